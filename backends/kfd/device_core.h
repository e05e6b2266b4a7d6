// DeviceCore: what a KfdDevice and its queues share, so that a queue or a handle may outlive the
// device object without losing the ground under it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/kfd/kfd_memory.h"
#include "backends/kfd/kfd_process.h"
#include "backends/kfd/mmio.h"
#include "backends/kfd/scratch.h"
#include "core/device.h"

namespace doppel::kfd {

class KfdQueue;

/// Where LDS and scratch appear in flat addresses (GET_PROCESS_APERTURES_NEW).
struct Apertures {
  uint64_t lds_base = 0;
  uint64_t scratch_base = 0;
};

struct DeviceCore {
  std::shared_ptr<KfdProcess> process;
  std::shared_ptr<KfdMemory> memory;
  const TopologyNode* node = nullptr;  // of process->topology()
  Device* device = nullptr;            // valid while the Device lives
  DeviceInfo info;
  DeviceOptions options;
  Apertures apertures;
  std::unique_ptr<Doorbells> doorbells;
  std::shared_ptr<MemoryLedger> ledger = std::make_shared<MemoryLedger>();
  std::atomic<int64_t> user_signals = 0;

  std::mutex queues_mutex;
  std::vector<KfdQueue*> queues;  // live ones, in the order of creation

  /// Memory of the runtime's own, which close() doesn't count as a leak.
  Result<Allocation> allocate(uint64_t bytes, const AllocationOptions& options) {
    return memory->allocate(bytes, options);
  }
  verify::HostObserver* host_observer() const { return process->kernel().host_observer(); }
  ScratchShape scratch_shape() const {
    return {.family = info.target->family,
            .compute_units = info.compute_units,
            .shader_engines = info.shader_engines,
            .slots_per_compute_unit = info.scratch_waves_per_compute_unit};
  }
};

/// System memory that host and device both poll or stream through.
inline constexpr AllocationOptions kSharedMemory{
    .domain = MemoryDomain::Gtt, .cpu_visible = true, .coherent = true, .uncached = true};

}  // namespace doppel::kfd
