#include "backends/mock/user_memory.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "backends/mock/raw_system.h"

namespace doppel::mock {
namespace {

constexpr uint64_t kPage = 4096;

/// Fallback for kernels before 5.14, which lack MADV_POPULATE_READ: reads a byte of every page.
int probe_pages(uint64_t address, uint64_t size) {
  for (uint64_t page = address; page < address + size; page += kPage) {
    char byte;
    if (!copy_from_user(&byte, page, 1)) return -EFAULT;
  }
  return 0;
}

}  // namespace

bool copy_from_user(void* to, uint64_t from, size_t size) {
  if (size == 0) return true;
  iovec local{to, size};
  iovec remote{reinterpret_cast<void*>(from), size};
  return process_vm_readv(raw::process_id(), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size);
}

bool copy_to_user(uint64_t to, const void* from, size_t size) {
  if (size == 0) return true;
  iovec local{const_cast<void*>(from), size};
  iovec remote{reinterpret_cast<void*>(to), size};
  return process_vm_writev(raw::process_id(), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size);
}

int pin_user_pages(uint64_t address, uint64_t size) {
#ifdef MADV_POPULATE_READ
  constexpr int kPopulateRead = MADV_POPULATE_READ;
#else
  constexpr int kPopulateRead = 22;
#endif
  if (!access_ok(address, size)) return -EFAULT;
  if (madvise(reinterpret_cast<void*>(address), size, kPopulateRead) == 0) return 0;
  // EINVAL means either an old kernel or a page without permission: let the pages themselves tell.
  return errno == EINVAL ? probe_pages(address, size) : -EFAULT;
}

}  // namespace doppel::mock
