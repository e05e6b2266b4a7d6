// KfdSignalPool: 65,536 amd_signal_t in one allocation that every GPU of the process maps, uncached
// and coherent, so that host, CP, SDMA and kernels see each other's stores.
//
// Safe to use from several threads. Lives until its last signal is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/kfd/kfd_event.h"
#include "backends/kfd/kfd_memory.h"
#include "backends/kfd/kfd_wait.h"
#include "core/signal.h"
#include "core/status.h"

namespace doppel::kfd {

class KfdSignalPool : public std::enable_shared_from_this<KfdSignalPool> {
 public:
  static constexpr uint32_t kSignals = 65536;

  /// `observer`, if any, outlives the pool's signals.
  KfdSignalPool(std::shared_ptr<KfdEvents> events, std::shared_ptr<Waiter> waiter,
                verify::HostObserver* observer = nullptr)
      : events_(std::move(events)), waiter_(std::move(waiter)), observer_(observer) {}

  /// Makes the pool accessible to a GPU; the first one also allocates it.
  Result<> attach(KfdMemory& memory);

  /// Exhausted if all are in use. The signal keeps `lease` as long as it lives.
  Result<Signal> create(const SignalOptions& options, std::shared_ptr<void> lease = {});

  uint32_t in_use() const;

 private:
  friend class KfdSignal;
  void recycle(uint32_t index);

  std::shared_ptr<KfdEvents> events_;
  std::shared_ptr<Waiter> waiter_;
  verify::HostObserver* const observer_;
  mutable std::mutex mutex_;
  Allocation memory_;
  uint32_t fresh_ = 0;  // signals from here on have never been used
  std::vector<uint32_t> recycled_;
};

}  // namespace doppel::kfd
