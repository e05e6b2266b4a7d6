// Scratch: private memory of work-items. One ring of wave slots per queue, sized for the largest
// kernel seen, and the COMPUTE_TMPRING_SIZE value that describes it on each family.
//
// Sources: COMPUTE_TMPRING_SIZE in the GC register headers; ROCr's rules for slots per engine.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "core/target.h"

namespace doppel::kfd {

/// What a scratch ring's size depends on.
struct ScratchShape {
  GfxFamily family = GfxFamily::Gfx11;
  uint32_t compute_units = 0;
  uint32_t shader_engines = 1;
  uint32_t slots_per_compute_unit = 32;  // max_slots_scratch_cu
};

struct ScratchPlan {
  uint64_t bytes_per_wave = 0;
  uint32_t waves = 0;  // slots of the whole device
  uint64_t total_bytes = 0;
  uint32_t tmpring_size = 0;  // COMPUTE_TMPRING_SIZE
};

/// A plan for `waves` slots, or for all that the device has if 0. OutOfRange if a work-item's share
/// exceeds what the register can say.
Result<ScratchPlan> plan_scratch(const ScratchShape& shape, uint32_t private_bytes,
                                 uint32_t wave_size, uint32_t waves = 0);

}  // namespace doppel::kfd
