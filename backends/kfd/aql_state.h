// AqlState: the amd_queue_t beside an AQL ring: what the packet processor must know before it
// starts, and the channel by which it asks for scratch memory or reports that it has stopped.
//
// As a HostService it runs in whatever thread waits. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/kfd/device_core.h"
#include "backends/kfd/kfd_wait.h"
#include "backends/kfd/queue_scratch.h"
#include "core/abi/amd_queue.h"
#include "core/signal.h"
#include "core/status.h"

namespace doppel::kfd {

class AqlState final : public HostService {
 public:
  /// Fills `queue`, which the GPU sees at `address`, for the ring.
  static Result<std::unique_ptr<AqlState>> create(DeviceCore& core, QueueScratch& scratch,
                                                  doppel::abi::AmdQueue& queue, uint64_t address,
                                                  const Allocation& ring);
  ~AqlState() override;

  /// Tells the packet processor of the queue's scratch ring. The queue must be idle.
  void set_scratch(const ScratchMemory& memory);

  /// Answers the processor's request, or notes the error it stopped with.
  Result<> serve() override;

 private:
  AqlState(DeviceCore& core, QueueScratch& scratch, doppel::abi::AmdQueue& queue,
           const Allocation& ring, Signal inactive);
  Result<> provide_scratch();

  DeviceCore& core_;
  QueueScratch& scratch_;
  doppel::abi::AmdQueue& queue_;
  const Allocation& ring_;  // the queue's
  Signal inactive_;
  std::shared_ptr<const ScratchMemory> in_use_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace doppel::kfd
