// QueueScratch: the scratch ring of one queue, made when the first kernel needs it and replaced by
// a larger one when a later kernel needs more. Whoever holds a share of a ring keeps it alive.
//
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>

#include "backends/kfd/device_core.h"
#include "backends/kfd/scratch.h"
#include "core/status.h"

namespace doppel::kfd {

struct ScratchMemory {
  Allocation allocation;
  ScratchPlan plan;
};

class QueueScratch {
 public:
  explicit QueueScratch(DeviceCore& core) : core_(core) {}

  /// A ring whose slots hold waves of such kernels. If memory is short, it has fewer slots; with
  /// less than one per shader engine, OutOfMemory.
  Result<std::shared_ptr<const ScratchMemory>> acquire(uint32_t private_bytes, uint32_t wave_size);

  /// The present ring, or nullptr.
  std::shared_ptr<const ScratchMemory> current() const;

 private:
  Result<std::shared_ptr<const ScratchMemory>> make(uint32_t private_bytes, uint32_t wave_size);

  DeviceCore& core_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ScratchMemory> current_;
};

}  // namespace doppel::kfd
