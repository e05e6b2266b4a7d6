#include "backends/kfd/kfd_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/errors.h"

namespace doppel::kfd {
namespace {

constexpr uint64_t kGuardBytes = 64 * 1024;  // behind each allocation of a verified device

uint32_t driver_flags(const AllocationOptions& options) {
  uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
  switch (options.domain) {
    case MemoryDomain::Vram:
      flags |= KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
      break;
    case MemoryDomain::Gtt:
      flags |= KFD_IOC_ALLOC_MEM_FLAGS_GTT;
      break;
    case MemoryDomain::Host:
      flags |= KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
      break;
  }
  if (options.writable) flags |= KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  if (options.executable) flags |= KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
  if (options.cpu_visible) flags |= KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
  if (options.coherent) flags |= KFD_IOC_ALLOC_MEM_FLAGS_COHERENT;
  if (options.uncached) flags |= KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
  return flags;
}

Result<> check(uint64_t bytes, const AllocationOptions& options) {
  if (bytes == 0) return invalid("An allocation needs at least one byte (0).");
  if (bytes > std::numeric_limits<uint64_t>::max() - kPageBytes) {
    return invalid(fmt::format("The allocation's size ({} bytes) overflows.", bytes));
  }
  if (options.host_pointer == nullptr) return {};
  if (options.domain != MemoryDomain::Host) {
    return invalid(fmt::format("Only memory of the domain (host) can be adopted, not ({}).",
                               to_string(options.domain)));
  }
  if (reinterpret_cast<uint64_t>(options.host_pointer) % kPageBytes != 0) {
    return invalid(fmt::format("The host memory to pin ({}) is not page aligned.",
                               fmt::ptr(options.host_pointer)));
  }
  return {};
}

/// The first failure of a sequence that must run to its end.
void keep_first(Result<>& first, Result<> next) {
  if (first && !next) first = std::move(next);
}

}  // namespace

bool KfdAllocation::is_of(const KfdDriver& driver) const {
  return memory_->driver_.get() == &driver;
}

KfdAllocation::~KfdAllocation() {
  if (handle_ != 0 || reserved_ != nullptr) (void)memory_->free(*this);
}

Result<> KfdAllocation::release() {
  return memory_->free(*this);
}

Result<std::shared_ptr<KfdMemory>> KfdMemory::open(std::shared_ptr<KfdDriver> driver,
                                                   Descriptor render, uint32_t gpu_id) {
  kfd_ioctl_acquire_vm_args args{};
  args.drm_fd = static_cast<uint32_t>(render.get());
  args.gpu_id = gpu_id;
  DOPPEL_TRY(driver->call(AMDKFD_IOC_ACQUIRE_VM, args,
                          fmt::format("take over the address space of GPU {}", gpu_id)));
  return std::shared_ptr<KfdMemory>(new KfdMemory(std::move(driver), std::move(render), gpu_id));
}

Result<Allocation> KfdMemory::allocate(uint64_t bytes, const AllocationOptions& options,
                                       AllocationOwner owner) {
  DOPPEL_TRY(check(bytes, options));
  auto allocation = std::make_unique<KfdAllocation>(shared_from_this(), std::move(owner.ledger));
  allocation->owner = owner.device;
  allocation->size = bytes;
  allocation->options = options;
  if (options.domain != MemoryDomain::Vram) allocation->options.cpu_visible = true;
  allocation->mapped_bytes_ = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;

  // From here on the allocation's destructor undoes whatever has been done.
  DOPPEL_TRY(reserve(*allocation));
  DOPPEL_TRY(obtain(*allocation));
  DOPPEL_TRY(map_gpus(*allocation, std::array{gpu_id_}));
  return Allocation(std::move(allocation));
}

Result<> KfdMemory::reserve(KfdAllocation& allocation) const {
  const AllocationOptions& options = allocation.options;
  if (options.host_pointer != nullptr) {
    allocation.host = static_cast<std::byte*>(options.host_pointer);
    allocation.gpu_address = reinterpret_cast<uint64_t>(options.host_pointer);
    return {};
  }
  // Host memory is there at once; device memory first gets an address that nobody else takes.
  const bool is_host = options.domain == MemoryDomain::Host;
  const int protection = is_host ? PROT_READ | PROT_WRITE : PROT_NONE;
  const int flags =
      is_host ? MAP_SHARED | MAP_ANONYMOUS : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  int os_error = 0;
  // Where somebody watches, running over the end meets no neighbour.
  const uint64_t guard = driver_->kernel().host_observer() != nullptr ? kGuardBytes : 0;
  allocation.reserved_bytes_ = allocation.mapped_bytes_ + guard;
  allocation.reserved_ = driver_->kernel().mmap(nullptr, allocation.reserved_bytes_, protection,
                                                flags, -1, 0, &os_error);
  if (allocation.reserved_ == nullptr) {
    return std::unexpected(status_from_errno(
        os_error, fmt::format("The process has no room for an allocation ({} bytes).",
                              allocation.mapped_bytes_)));
  }
  allocation.gpu_address = reinterpret_cast<uint64_t>(allocation.reserved_);
  if (is_host) allocation.host = static_cast<std::byte*>(allocation.reserved_);
  return {};
}

Result<> KfdMemory::obtain(KfdAllocation& allocation) const {
  kfd_ioctl_alloc_memory_of_gpu_args args{};
  args.va_addr = allocation.gpu_address;
  args.size = allocation.mapped_bytes_;
  args.gpu_id = gpu_id_;
  args.flags = driver_flags(allocation.options);
  const bool is_host = allocation.options.domain == MemoryDomain::Host;
  if (is_host) args.mmap_offset = reinterpret_cast<uint64_t>(allocation.host);
  DOPPEL_TRY(driver_->call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args,
                           fmt::format("allocate {} bytes of {}", allocation.size,
                                       to_string(allocation.options.domain))));
  allocation.handle_ = args.handle;
  if (allocation.ledger_ != nullptr) {
    allocation.ledger_->count += 1;
    allocation.ledger_->bytes += allocation.mapped_bytes_;
  }
  if (is_host || !allocation.options.cpu_visible) return {};
  return map_for_cpu(allocation, args.mmap_offset);
}

Result<> KfdMemory::map_for_cpu(KfdAllocation& allocation, uint64_t mmap_offset) const {
  int os_error = 0;
  void* mapped =
      driver_->kernel().mmap(allocation.reserved_, allocation.mapped_bytes_, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_FIXED, render_.get(), mmap_offset, &os_error);
  if (mapped == nullptr) {
    return std::unexpected(status_from_errno(
        os_error, fmt::format("The render node does not map an allocation ({} bytes of {}) for "
                              "the CPU.",
                              allocation.size, to_string(allocation.options.domain))));
  }
  allocation.host = static_cast<std::byte*>(mapped);
  return {};
}

Result<> KfdMemory::map_gpus(const KfdAllocation& allocation,
                             std::span<const uint32_t> gpus) const {
  kfd_ioctl_map_memory_to_gpu_args args{};
  args.handle = allocation.handle_;
  args.device_ids_array_ptr = reinterpret_cast<uint64_t>(gpus.data());
  args.n_devices = static_cast<uint32_t>(gpus.size());
  Result<> result = driver_->call(AMDKFD_IOC_MAP_MEMORY_TO_GPU, args,
                                  fmt::format("map {} bytes for a GPU", allocation.size));
  // The driver maps in order and stops at the first failure: n_success tells how far it came.
  const uint32_t done = std::min(args.n_success, args.n_devices);
  if (result && done == args.n_devices) {
    allocation.mapped_gpus_.insert(allocation.mapped_gpus_.end(), gpus.begin(), gpus.end());
    return {};
  }
  if (done > 0) {
    allocation.mapped_gpus_.insert(allocation.mapped_gpus_.end(), gpus.begin(),
                                   gpus.begin() + done);
    (void)unmap_gpus(allocation, gpus.first(done));
  }
  const int os_error = result ? 0 : result.error().os_error();
  const StatusCode code = result ? StatusCode::System : result.error().code();
  return error(code,
               fmt::format("The driver maps {} of {} GPUs; GPU {} fails (MAP_MEMORY_TO_GPU).", done,
                           args.n_devices, gpus[std::min(done, args.n_devices - 1)]),
               os_error);
}

Result<> KfdMemory::unmap_gpus(const KfdAllocation& allocation,
                               std::span<const uint32_t> gpus) const {
  kfd_ioctl_unmap_memory_from_gpu_args args{};
  args.handle = allocation.handle_;
  args.device_ids_array_ptr = reinterpret_cast<uint64_t>(gpus.data());
  args.n_devices = static_cast<uint32_t>(gpus.size());
  Result<> result = driver_->call(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, args, "unmap memory");
  const uint32_t done = result ? args.n_devices : std::min(args.n_success, args.n_devices);
  for (uint32_t gpu : gpus.first(done)) std::erase(allocation.mapped_gpus_, gpu);
  return result;
}

bool KfdMemory::is_mapped(const KfdAllocation& allocation) const {
  return std::ranges::find(allocation.mapped_gpus_, gpu_id_) != allocation.mapped_gpus_.end();
}

Result<> KfdMemory::map(const KfdAllocation& allocation) {
  if (is_mapped(allocation)) return {};
  return map_gpus(allocation, std::array{gpu_id_});
}

Result<> KfdMemory::unmap(const KfdAllocation& allocation) {
  if (!is_mapped(allocation)) {
    return invalid(fmt::format("GPU {} does not map the allocation.", gpu_id_));
  }
  return unmap_gpus(allocation, std::array{gpu_id_});
}

Result<> KfdMemory::free(KfdAllocation& allocation) {
  Result<> result;
  if (allocation.handle_ != 0) {
    const std::vector<uint32_t> gpus = allocation.mapped_gpus_;
    if (!gpus.empty()) keep_first(result, unmap_gpus(allocation, gpus));
    kfd_ioctl_free_memory_of_gpu_args args{};
    args.handle = std::exchange(allocation.handle_, 0);
    keep_first(result, driver_->call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, args, "free memory"));
    if (allocation.ledger_ != nullptr) {
      allocation.ledger_->count -= 1;
      allocation.ledger_->bytes -= allocation.mapped_bytes_;
    }
  }
  if (void* reserved = std::exchange(allocation.reserved_, nullptr); reserved != nullptr) {
    if (const int unmapped = driver_->kernel().munmap(reserved, allocation.reserved_bytes_);
        unmapped < 0) {
      keep_first(result, std::unexpected(status_from_errno(
                             -unmapped, "The process's address range does not unmap (munmap).")));
    }
  }
  return result;
}

}  // namespace doppel::kfd
