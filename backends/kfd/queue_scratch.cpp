#include "backends/kfd/queue_scratch.h"

#include <algorithm>

namespace doppel::kfd {

std::shared_ptr<const ScratchMemory> QueueScratch::current() const {
  const std::scoped_lock lock(mutex_);
  return current_;
}

Result<std::shared_ptr<const ScratchMemory>> QueueScratch::acquire(uint32_t private_bytes,
                                                                   uint32_t wave_size) {
  const std::scoped_lock lock(mutex_);
  const uint64_t wanted = uint64_t{private_bytes} * wave_size;
  if (current_ == nullptr || current_->plan.bytes_per_wave < wanted) {
    DOPPEL_ASSIGN(current_, make(private_bytes, wave_size));
  }
  return current_;
}

Result<std::shared_ptr<const ScratchMemory>> QueueScratch::make(uint32_t private_bytes,
                                                                uint32_t wave_size) {
  const ScratchShape shape = core_.scratch_shape();
  DOPPEL_ASSIGN(ScratchPlan plan, plan_scratch(shape, private_bytes, wave_size));
  while (true) {
    auto allocation = core_.allocate(plan.total_bytes, {.domain = MemoryDomain::Vram});
    if (allocation) {
      return std::make_shared<const ScratchMemory>(ScratchMemory{*std::move(allocation), plan});
    }
    if (allocation.error().code() != StatusCode::OutOfMemory ||
        plan.waves / 2 < std::max(shape.shader_engines, 1u)) {
      return std::unexpected(std::move(allocation).error());
    }
    DOPPEL_ASSIGN(plan, plan_scratch(shape, private_bytes, wave_size, plan.waves / 2));
  }
}

}  // namespace doppel::kfd
