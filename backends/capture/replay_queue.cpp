#include "backends/capture/replay_queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "backends/capture/queue_layout.h"
#include "core/packets/dump.h"

namespace doppel::capture {
namespace {

constexpr size_t kMaxShownDwords = 1024;

}  // namespace

Result<ReplayQueue> ReplayQueue::adopt(kfd::KernelAbi& kernel, int kfd_fd,
                                       const kfd_ioctl_create_queue_args& args,
                                       const Target* target, const ReplayMemory& memory) {
  ReplayQueue queue;
  queue.kernel_ = &kernel;
  queue.id_ = args.queue_id;
  queue.language_ = language_of(args.queue_type);
  if (target != nullptr) queue.family_ = target->family;
  queue.ring_ = args.ring_base_address;
  queue.ring_bytes_ = args.ring_size;
  queue.write_pointer_ = args.write_pointer_address;
  if (memory.view(queue.ring_, queue.ring_bytes_).empty() || queue.pointer(memory) == nullptr ||
      !std::has_single_bit(queue.ring_bytes_)) {
    return error(StatusCode::Malformed,
                 fmt::format("The trace has a queue whose ring or pointer the host does not see "
                             "(ring {:#x}).",
                             args.ring_base_address));
  }
  queue.doorbell_offset_ = args.doorbell_offset % kfd::abi::kDoorbellSliceBytes;
  int os_error = 0;
  void* mapped =
      kernel.mmap(nullptr, kfd::abi::kDoorbellSliceBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                  kfd_fd, args.doorbell_offset - queue.doorbell_offset_, &os_error);
  if (mapped == nullptr) {
    return std::unexpected(
        status_from_errno(os_error, "The driver does not map the doorbells (mmap)."));
  }
  queue.doorbells_ = static_cast<std::byte*>(mapped);
  return queue;
}

ReplayQueue::ReplayQueue(ReplayQueue&& other) noexcept {
  *this = std::move(other);
}

ReplayQueue& ReplayQueue::operator=(ReplayQueue&& other) noexcept {
  std::swap(kernel_, other.kernel_);
  std::swap(doorbells_, other.doorbells_);
  id_ = other.id_;
  language_ = other.language_;
  family_ = other.family_;
  ring_ = other.ring_;
  ring_bytes_ = other.ring_bytes_;
  write_pointer_ = other.write_pointer_;
  doorbell_offset_ = other.doorbell_offset_;
  return *this;
}

ReplayQueue::~ReplayQueue() {
  if (doorbells_ != nullptr) kernel_->munmap(doorbells_, kfd::abi::kDoorbellSliceBytes);
}

uint64_t* ReplayQueue::pointer(const ReplayMemory& memory) const {
  const auto word = memory.view(write_pointer_, sizeof(uint64_t));
  if (word.empty() || write_pointer_ % sizeof(uint64_t) != 0) return nullptr;
  return reinterpret_cast<uint64_t*>(word.data());
}

std::string ReplayQueue::packets_up_to(uint64_t write_pointer, const ReplayMemory& memory) const {
  const auto ring = memory.view(ring_, ring_bytes_);
  const uint64_t* now = pointer(memory);
  if (ring.empty() || now == nullptr) return {};
  const uint64_t unit = bytes_per_unit(language_);
  const uint64_t begin = *now * unit / 4, end = write_pointer * unit / 4;
  const uint64_t ring_dwords = ring.size() / 4;
  std::vector<uint32_t> dwords;
  for (uint64_t at = begin; at < end && dwords.size() < kMaxShownDwords; ++at) {
    uint32_t dword = 0;
    std::memcpy(&dword, ring.data() + at % ring_dwords * 4, sizeof dword);
    dwords.push_back(dword);
  }
  packets::DumpOptions symbolic;
  symbolic.raw = false;
  return packets::dump_stream(language_, dwords, family_, symbolic);
}

Result<> ReplayQueue::advance(uint64_t write_pointer, const ReplayMemory& memory) {
  uint64_t* const now = pointer(memory);
  if (now == nullptr) {
    return error(StatusCode::Malformed,
                 fmt::format("The trace submits to a queue whose memory it has freed ({:#x}).",
                             write_pointer_));
  }
  kernel_->advance_queue(
      {.queue = id_,
       .write_pointer = now,
       .to = write_pointer,
       .doorbell = reinterpret_cast<volatile uint64_t*>(doorbells_ + doorbell_offset_),
       .doorbell_value = language_ == packets::Language::Aql ? write_pointer - 1 : write_pointer});
  return {};
}

}  // namespace doppel::capture
