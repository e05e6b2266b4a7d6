#include "backends/capture/capture_kernel.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "backends/kfd/kfd_abi.h"
#include "backends/kfd/topology.h"

namespace doppel::capture {
namespace {

constexpr uint64_t kMaxMemoryRecord = uint64_t{32} << 10;  // small enough for the heap to reuse
constexpr uint64_t kStillNs = 5'000'000;

constexpr uint32_t kNoMemory =
    KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL;

std::vector<std::byte> argument_bytes(unsigned long request, const void* argument) {
  if (argument == nullptr) return {};
  const auto* bytes = static_cast<const std::byte*>(argument);
  return {bytes, bytes + _IOC_SIZE(request)};
}

template <class Args>
Args argument_of(const std::vector<std::byte>& bytes) {
  Args args{};
  std::memcpy(&args, bytes.data(), std::min(bytes.size(), sizeof args));
  return args;
}

/// The GPUs that a call maps for.
std::vector<uint32_t> gpu_list(unsigned long request, const void* argument) {
  if (request != AMDKFD_IOC_MAP_MEMORY_TO_GPU && request != AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU) {
    return {};
  }
  kfd_ioctl_map_memory_to_gpu_args args;
  std::memcpy(&args, argument, sizeof args);
  const auto* ids = reinterpret_cast<const uint32_t*>(args.device_ids_array_ptr);
  if (ids == nullptr) return {};
  return {ids, ids + args.n_devices};
}

uint64_t zero_page_checksum() {
  static constexpr std::array<std::byte, kPageBytes> kZero{};
  static const uint64_t sum = checksum(kZero);
  return sum;
}

}  // namespace

CaptureKernel::CaptureKernel(std::shared_ptr<kfd::KernelAbi> kernel, std::ostream& out,
                             std::string machine)
    : PlacingKernel(std::move(kernel)),
      machine_(std::move(machine)),
      is_real_(!machine_.starts_with("mock:")),
      writer_(out) {}

CaptureKernel::~CaptureKernel() {
  (void)finish();
}

void CaptureKernel::start() {
  if (started_) return;
  started_ = true;
  StartRecord record{machine_, {}};
  if (const auto topology = kfd::read_topology(inner())) {
    for (const kfd::TopologyNode* gpu : topology->gpus()) {
      record.gpus.push_back({gpu->gpu_id,
                             static_cast<uint32_t>(gpu->properties["drm_render_minor"]),
                             gpu->gfx_name()});
    }
  }
  write(record);
}

void CaptureKernel::write(const Record& record) {
  if (finished_ || !status_) return;
  status_ = writer_.append(encode(record));
}

int CaptureKernel::open(const char* path, int flags) {
  const std::scoped_lock lock(mutex_);
  start();
  const int result = PlacingKernel::open(path, flags);
  write(OpenRecord{path, result});
  return result;
}

int CaptureKernel::close(int fd) {
  const std::scoped_lock lock(mutex_);
  write(CloseRecord{fd});
  return PlacingKernel::close(fd);
}

int CaptureKernel::ioctl(int fd, unsigned long request, void* argument) {
  IoctlRecord record{
      .fd = fd,
      .request = static_cast<uint32_t>(request),
      .result = 0,
      .in = argument_bytes(request, argument),
      .out = {},
      .gpus = argument == nullptr ? std::vector<uint32_t>() : gpu_list(request, argument)};
  record.result = PlacingKernel::ioctl(fd, request, argument);
  record.out = argument_bytes(request, argument);
  const std::scoped_lock lock(mutex_);
  if (request == AMDKFD_IOC_FREE_MEMORY_OF_GPU)
    ranges_.erase(argument_of<kfd_ioctl_free_memory_of_gpu_args>(record.in).handle);
  write(record);
  if (record.result >= 0) note_ioctl(request, record);
  return record.result;
}

void CaptureKernel::note_ioctl(unsigned long request, const IoctlRecord& record) {
  if (request == AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) return note_allocation(record);
  if (request == AMDKFD_IOC_CREATE_QUEUE) return note_queue(record);
  if (request == AMDKFD_IOC_DESTROY_QUEUE) {
    queues_.erase(argument_of<kfd_ioctl_destroy_queue_args>(record.in).queue_id);
  }
}

void CaptureKernel::note_allocation(const IoctlRecord& record) {
  const auto args = argument_of<kfd_ioctl_alloc_memory_of_gpu_args>(record.out);
  if ((args.flags & kNoMemory) != 0) return;
  Range range{.va = args.va_addr,
              .size = args.size,
              .mmap_offset = args.mmap_offset,
              .host = {},
              .pages = {}};
  if ((args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0) {
    const auto in = argument_of<kfd_ioctl_alloc_memory_of_gpu_args>(record.in);
    range.host = reinterpret_cast<const std::byte*>(in.mmap_offset);
  }
  ranges_.insert_or_assign(args.handle, std::move(range));
}

void CaptureKernel::note_queue(const IoctlRecord& record) {
  const auto args = argument_of<kfd_ioctl_create_queue_args>(record.out);
  queues_[args.queue_id] = {host_word(args.read_pointer_address),
                            host_word(args.write_pointer_address)};
}

const uint64_t* CaptureKernel::host_word(uint64_t va) const {
  for (const auto& [handle, range] : ranges_) {
    if (range.host != nullptr && va >= range.va && va - range.va + sizeof(uint64_t) <= range.size) {
      return reinterpret_cast<const uint64_t*>(range.host + (va - range.va));
    }
  }
  return nullptr;
}

void* CaptureKernel::mmap(void* address, size_t length, int protection, int flags, int fd,
                          uint64_t offset, int* os_error) {
  void* result = PlacingKernel::mmap(address, length, protection, flags, fd, offset, os_error);
  if (result == nullptr || fd < 0) return result;
  const std::scoped_lock lock(mutex_);
  for (auto& [handle, range] : ranges_) {
    if (range.mmap_offset == offset && range.size == length && range.host == nullptr) {
      range.host = static_cast<const std::byte*>(result);
    }
  }
  return result;
}

void CaptureKernel::write_bytes(const Range& range, uint64_t first, uint64_t bytes, Author author) {
  while (bytes != 0) {
    const uint64_t part = std::min(bytes, kMaxMemoryRecord);
    std::vector<std::byte> copy(range.host + first, range.host + first + part);
    if (author == Author::Host) {
      write(MemoryRecord{range.va + first, std::move(copy)});
    } else {
      write(ResultRecord{range.va + first, std::move(copy)});
    }
    first += part;
    bytes -= part;
  }
}

/// Changed pages, neighbours together. Memory begins as zeros.
void CaptureKernel::snapshot_range(Range& range, Author author) {
  if (range.host == nullptr) return;
  range.pages.resize((range.size + kPageBytes - 1) / kPageBytes, zero_page_checksum());
  uint64_t begin = 0, end = 0;  // of a run of changed pages
  for (size_t page = 0; page < range.pages.size(); ++page) {
    const uint64_t first = page * kPageBytes;
    const uint64_t bytes = std::min(kPageBytes, range.size - first);
    const uint64_t sum = checksum({range.host + first, bytes});
    if (sum == range.pages[page]) continue;
    range.pages[page] = sum;
    if (first != end) {
      write_bytes(range, begin, end - begin, author);
      begin = first;
    }
    end = first + bytes;
  }
  write_bytes(range, begin, end - begin, author);
}

void CaptureKernel::snapshot(Author author) {
  for (auto& [handle, range] : ranges_) snapshot_range(range, author);
}

bool CaptureKernel::queues_are_empty() const {
  return std::ranges::all_of(queues_, [](const auto& entry) {
    const Queue& queue = entry.second;
    if (queue.read_pointer == nullptr || queue.write_pointer == nullptr) return false;
    const auto load = [](const uint64_t* word) {
      return std::atomic_ref(*const_cast<uint64_t*>(word)).load(std::memory_order_acquire);
    };
    return load(queue.read_pointer) == load(queue.write_pointer);
  });
}

uint64_t CaptureKernel::memory_checksum() const {
  uint64_t sum = 0;
  for (const auto& [handle, range] : ranges_) {
    if (range.host != nullptr) sum = checksum({range.host, range.size}, sum);
  }
  return sum;
}

void CaptureKernel::rest() {
  const uint64_t begin = now_ns();
  uint64_t still_since = 0;  // since when the queues are empty and memory does not change
  uint64_t last_sum = 0;
  // A virtual driver says Stalled when it is at rest; a real one never does.
  while (inner().relax() == kfd::Relax::Again) {
    const uint64_t now = now_ns();
    if (now - begin > kRestNs) return;
    if (!is_real_ || !queues_are_empty()) continue;
    const uint64_t sum = memory_checksum();
    if (still_since == 0 || sum != last_sum) still_since = now;
    if (now - still_since >= kStillNs) return;
    last_sum = sum;
  }
}

void CaptureKernel::advance_queue(const kfd::QueueAdvance& advance) {
  const std::scoped_lock lock(mutex_);
  snapshot(Author::Host);
  write(SubmitRecord{advance.queue, advance.to});
  PlacingKernel::advance_queue(advance);
  rest();
  snapshot(Author::Gpu);
}

Result<> CaptureKernel::finish() {
  const std::scoped_lock lock(mutex_);
  if (finished_) return status_;
  start();
  snapshot(Author::Host);
  if (status_) status_ = writer_.finish();
  finished_ = true;
  return status_;
}

}  // namespace doppel::capture
