#include "backends/kfd/mmio.h"

#include <sys/mman.h>

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "backends/kfd/kfd_memory.h"

namespace doppel::kfd {
namespace {

constexpr size_t kHdpMemFlushControl = 0;  // KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL, a dword index

}  // namespace

Doorbells::~Doorbells() {
  if (slice_ != nullptr) driver_->kernel().munmap(slice_, abi::kDoorbellSliceBytes);
}

Result<volatile uint64_t*> Doorbells::at(uint64_t offset) {
  const std::scoped_lock lock(mutex_);
  const uint64_t within = offset % abi::kDoorbellSliceBytes;
  if (slice_ == nullptr) {
    int os_error = 0;
    void* mapped = driver_->kernel().mmap(nullptr, abi::kDoorbellSliceBytes, PROT_READ | PROT_WRITE,
                                          MAP_SHARED, driver_->fd(), offset - within, &os_error);
    if (mapped == nullptr) {
      return std::unexpected(
          status_from_errno(os_error, "The driver does not map the doorbells (mmap)."));
    }
    slice_ = static_cast<std::byte*>(mapped);
    slice_offset_ = offset - within;
  }
  if (offset - within != slice_offset_ || within % sizeof(uint64_t) != 0) {
    return error(StatusCode::System,
                 fmt::format("The driver places a doorbell ({:#x}) outside of its GPU's slice "
                             "({:#x}).",
                             offset, slice_offset_));
  }
  return reinterpret_cast<volatile uint64_t*>(slice_ + within);
}

Result<std::unique_ptr<HostFlush>> HostFlush::open(std::shared_ptr<KfdDriver> driver,
                                                   uint32_t gpu_id) {
  std::unique_ptr<HostFlush> flush(new HostFlush(std::move(driver)));
  KfdDriver& kfd = *flush->driver_;
  int os_error = 0;
  flush->page_ = kfd.kernel().mmap(nullptr, kPageBytes, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &os_error);
  if (flush->page_ == nullptr) {
    return std::unexpected(status_from_errno(os_error, "The process has no room for a page."));
  }
  kfd_ioctl_alloc_memory_of_gpu_args args{};
  args.va_addr = reinterpret_cast<uint64_t>(flush->page_);
  args.size = kPageBytes;
  args.gpu_id = gpu_id;
  args.flags = KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
               KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT;
  DOPPEL_TRY(kfd.call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args, "offer its register page"));
  flush->handle_ = args.handle;
  void* mapped = kfd.kernel().mmap(flush->page_, kPageBytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_FIXED, kfd.fd(), args.mmap_offset, &os_error);
  if (mapped == nullptr) {
    return std::unexpected(
        status_from_errno(os_error, "The driver does not map its register page (mmap)."));
  }
  return flush;
}

HostFlush::~HostFlush() {
  if (page_ != nullptr) driver_->kernel().munmap(page_, kPageBytes);
  if (handle_ == 0) return;
  kfd_ioctl_free_memory_of_gpu_args args{};
  args.handle = handle_;
  (void)driver_->call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, args, "free its register page");
}

void HostFlush::flush() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto* registers = static_cast<volatile uint32_t*>(page_);
  registers[kHdpMemFlushControl] = 1;
  (void)registers[kHdpMemFlushControl];  // reading back waits for the store to arrive
}

}  // namespace doppel::kfd
