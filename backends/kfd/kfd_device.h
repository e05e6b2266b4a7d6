// KfdDevice: the Device of a KFD node, real or virtual.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/kfd/device_core.h"
#include "backends/kfd/kfd_queue.h"
#include "core/device.h"

namespace doppel::kfd {

class KfdDevice final : public Device {
 public:
  /// The `index`th GPU of the topology, called `name` in messages. NotFound, naming how many there
  /// are, if it doesn't exist; Unsupported if doppel does not know its target.
  static Result<std::unique_ptr<KfdDevice>> open(std::shared_ptr<KfdProcess> process,
                                                 uint32_t index, std::string name,
                                                 const DeviceOptions& options = {});
  ~KfdDevice() override;

  const DeviceInfo& info() const override { return core_->info; }
  Result<Allocation> allocate(uint64_t bytes, const AllocationOptions& options = {}) override;
  Result<> map(const MemoryView& memory) override;
  Result<> unmap(const MemoryView& memory) override;
  bool is_mapped(const MemoryView& memory) const override;
  Result<Signal> create_signal(const SignalOptions& options = {}) override;
  Result<std::unique_ptr<Queue>> create_queue(const QueueOptions& options) override;
  Result<Queue*> default_queue(QueueKind kind) override;
  Result<> synchronize(const WaitOptions& options = {}) override;
  Result<ClockFit> clock_fit() override;
  Result<> flush_host_writes() override;
  Result<> close() override;
  Result<verify::FindingLog> findings() override;
  verify::HostObserver* host_observer() override { return core_->host_observer(); }

 private:
  /// One reading of both clocks.
  struct ClockSample {
    uint64_t gpu_ticks = 0;
    uint64_t host_ns = 0;
  };

  explicit KfdDevice(std::shared_ptr<DeviceCore> core) : core_(std::move(core)) {}
  Result<> close_within(const WaitOptions& drain);
  Result<> read_apertures();
  Result<ClockSample> read_clocks() const;
  Result<> check_open() const;
  Result<const KfdAllocation*> own_kind(const MemoryView& memory) const;

  std::shared_ptr<DeviceCore> core_;
  std::unique_ptr<HostFlush> host_flush_;  // nullptr where the driver doesn't offer it
  ClockSample first_sample_;
  std::mutex queues_mutex_;
  std::map<QueueKind, std::unique_ptr<KfdQueue>> default_queues_;
  std::atomic<bool> open_ = true;
};

}  // namespace doppel::kfd
