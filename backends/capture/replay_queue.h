// ReplayQueue: a queue of a replay: its doorbell, and the packets between its pointers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/capture/replay_memory.h"
#include "core/packets/row.h"
#include "core/target.h"

namespace doppel::capture {

class ReplayQueue {
 public:
  /// The queue that CREATE_QUEUE has made with these arguments. Malformed if its ring or pointers
  /// are not memory of the replay.
  static Result<ReplayQueue> adopt(kfd::KernelAbi& kernel, int kfd_fd,
                                   const kfd_ioctl_create_queue_args& args, const Target* target,
                                   const ReplayMemory& memory);
  ReplayQueue(ReplayQueue&& other) noexcept;
  ReplayQueue& operator=(ReplayQueue&& other) noexcept;
  ~ReplayQueue();

  uint32_t id() const { return id_; }

  /// What lies in the ring up to a new write pointer, as text.
  std::string packets_up_to(uint64_t write_pointer, const ReplayMemory& memory) const;
  /// Submits them. Malformed if the queue's memory has been freed meanwhile.
  Result<> advance(uint64_t write_pointer, const ReplayMemory& memory);

 private:
  ReplayQueue() = default;
  /// The write pointer, nullptr if its memory is gone.
  uint64_t* pointer(const ReplayMemory& memory) const;

  kfd::KernelAbi* kernel_ = nullptr;
  uint32_t id_ = 0;
  packets::Language language_ = packets::Language::Pm4;
  GfxFamily family_ = GfxFamily::Gfx11;
  uint64_t ring_ = 0;  // addresses of this process
  uint64_t ring_bytes_ = 0;
  uint64_t write_pointer_ = 0;
  std::byte* doorbells_ = nullptr;  // the mapped slice
  uint64_t doorbell_offset_ = 0;    // in it
};

}  // namespace doppel::capture
