#include "backends/kfd/placing_kernel.h"

#include <sys/mman.h>

namespace doppel::kfd {
namespace {

constexpr uint64_t kGranule = uint64_t{1} << 20;  // also what lies unmapped between two ranges
constexpr int kAttempts = 256;

}  // namespace

void* PlacingKernel::mmap(void* address, size_t length, int protection, int flags, int fd,
                          uint64_t offset, int* os_error) {
  const int attempts = address == nullptr && fd < 0 ? kAttempts : 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const uint64_t step = (length + 2 * kGranule - 1) / kGranule * kGranule;
    void* wanted = reinterpret_cast<void*>(next_.fetch_add(step));
    void* placed = ForwardingKernel::mmap(wanted, length, protection, flags | MAP_FIXED_NOREPLACE,
                                          fd, offset, os_error);
    if (placed == wanted) return placed;
    if (placed != nullptr) ForwardingKernel::munmap(placed, length);
  }
  return ForwardingKernel::mmap(address, length, protection, flags, fd, offset, os_error);
}

}  // namespace doppel::kfd
