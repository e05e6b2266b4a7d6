// KfdQueue: a hardware queue made by CREATE_QUEUE: ring, pointers page, doorbell, and for compute
// the EOP buffer and context save area; beside them the argument memory and the timeline by which
// it knows what has retired.
//
// Each submission is followed by a marker that counts up the timeline signal. The signal is only
// waited for by the host, so that it can start again from 0 when it comes near the 32 bits that
// engines store. Lock order: a submission's lock, then the waiter's, then the scratch ring's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/kfd/aql_state.h"
#include "backends/kfd/argument_ring.h"
#include "backends/kfd/device_core.h"
#include "backends/kfd/queue_scratch.h"
#include "backends/kfd/ring_buffer.h"
#include "core/abi/amd_queue.h"
#include "core/queue.h"

namespace doppel::kfd {

class KfdQueue final : public Queue {
 public:
  /// How long destructors let work in flight finish.
  static constexpr auto kDestroyTimeout = std::chrono::seconds(1);

  static Result<std::unique_ptr<KfdQueue>> create(std::shared_ptr<DeviceCore> core,
                                                  const QueueOptions& options);
  ~KfdQueue() override;

  QueueKind kind() const override { return kind_; }
  uint32_t id() const override { return id_; }
  Device& device() const override { return *core_->device; }
  Result<std::unique_ptr<QueueReservation>> reserve(Submission submission) override;
  uint64_t max_stream() const override;
  Result<ScratchLease> scratch(uint32_t private_bytes, uint32_t wave_size) override;
  HiddenArgs hidden_args() const override;
  uint64_t submitted() const override { return submitted_.load(std::memory_order_acquire); }
  uint64_t retired() override;
  Result<> synchronize(const WaitOptions& options = {}) override;

  /// Destroys the hardware queue now; submit() and synchronize() fail afterwards.
  Result<> close();

 private:
  class Reservation;
  struct InFlight {
    uint64_t number = 0;
    std::vector<std::shared_ptr<const void>> keep_alive;
  };

  KfdQueue(std::shared_ptr<DeviceCore> core, const QueueOptions& options)
      : core_(std::move(core)), kind_(options.kind), scratch_(*core_) {}

  Result<> allocate_buffers(const QueueOptions& options);
  Result<> create_hardware_queue(const QueueOptions& options);

  // With mutex_ held.
  void retire();
  Result<> place_arguments(Submission& submission);
  void give_back(const Submission& submission);
  Result<> grow_arguments(uint32_t bytes);
  Result<> restart_timeline();
  void append_marker(CommandStream& commands) const;
  Result<> reserve_ring(const CommandStream& commands);
  void publish(Submission submission);
  Result<> wait_retired(uint64_t number, std::chrono::nanoseconds timeout);

  void note_deadlock(uint64_t number) const;
  uint64_t timeline_count() const;
  uint64_t read_pointer() const;

  std::shared_ptr<DeviceCore> core_;
  QueueKind kind_;
  uint32_t id_ = 0;
  bool exists_ = false;  // in the driver

  Allocation ring_memory_;
  Allocation pointers_;  // an amd_queue_t of its own page, for every kind
  Allocation eop_;
  Allocation context_save_;
  doppel::abi::AmdQueue* amd_queue_ = nullptr;
  volatile uint64_t* doorbell_ = nullptr;

  std::mutex mutex_;  // of everything below but the atomics; a reservation holds it
  RingBuffer ring_;
  Allocation argument_memory_;
  ArgumentRing arguments_;
  Signal timeline_;
  std::atomic<uint64_t> timeline_base_ = 0;  // submissions before the signal's present 0
  std::atomic<uint64_t> submitted_ = 0;
  std::deque<InFlight> in_flight_;

  QueueScratch scratch_;
  std::unique_ptr<AqlState> aql_;
};

}  // namespace doppel::kfd
