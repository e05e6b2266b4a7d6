// KfdProcess: what a process has once, whatever the number of GPUs: the driver, the topology,
// events, signals, and the way to wait for them. Devices, queues and signals share it.
//
// Safe to use from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backends/kfd/kfd_driver.h"
#include "backends/kfd/kfd_event.h"
#include "backends/kfd/kfd_signal_pool.h"
#include "backends/kfd/kfd_wait.h"
#include "backends/kfd/topology.h"
#include "core/status.h"

namespace doppel::kfd {

class KfdProcess {
 public:
  static Result<std::shared_ptr<KfdProcess>> open(std::shared_ptr<KernelAbi> kernel);

  KfdDriver& driver() const { return *driver_; }
  const std::shared_ptr<KfdDriver>& shared_driver() const { return driver_; }
  KernelAbi& kernel() const { return driver_->kernel(); }
  const Topology& topology() const { return topology_; }
  KfdEvents& events() const { return *events_; }
  Waiter& waiter() const { return *waiter_; }
  KfdSignalPool& signals() const { return *signals_; }

  /// A GPU's share of the address space, with events and signals in it. KFD binds a GPU to the
  /// render node that it was first acquired with until the process ends, so that everybody who
  /// opens the GPU again shares the first one's.
  Result<std::shared_ptr<KfdMemory>> memory_of(const TopologyNode& node);

  /// The first half of memory_of(): the bare address space.
  Result<std::shared_ptr<KfdMemory>> address_space_of(const TopologyNode& node);

  /// Each opening of a device, and its end. Exceptions concern whoever has a device open: the
  /// queues that they stopped are gone with the last one.
  void device_opened();
  Result<> device_closed();

 private:
  KfdProcess(std::shared_ptr<KfdDriver> driver, Topology topology);
  Result<std::shared_ptr<KfdMemory>> acquire(const TopologyNode& node);  // with mutex_ held

  std::shared_ptr<KfdDriver> driver_;
  Topology topology_;
  std::shared_ptr<KfdEvents> events_;
  std::shared_ptr<Waiter> waiter_;
  std::shared_ptr<KfdSignalPool> signals_;
  std::mutex mutex_;
  uint32_t open_devices_ = 0;
  std::map<uint32_t, std::shared_ptr<KfdMemory>> memories_;  // by GPU id
};

}  // namespace doppel::kfd
