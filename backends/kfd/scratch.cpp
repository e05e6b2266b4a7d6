#include "backends/kfd/scratch.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/packets/registers.h"

namespace doppel::kfd {
namespace {

/// What COMPUTE_TMPRING_SIZE counts in: from gfx11 on WAVES is per shader engine, and WAVESIZE has
/// a granule of 64 dwords instead of 256.
bool counts_per_engine(GfxFamily family) {
  return family != GfxFamily::Gfx9_4 && family != GfxFamily::Gfx10_3;
}
uint32_t granule_bytes(GfxFamily family) {
  return counts_per_engine(family) ? 256 : 1024;
}

}  // namespace

Result<ScratchPlan> plan_scratch(const ScratchShape& shape, uint32_t private_bytes,
                                 uint32_t wave_size, uint32_t waves) {
  using Register = regs::ComputeTmpringSize;
  const uint64_t granule = granule_bytes(shape.family);
  const uint64_t granules = (uint64_t{private_bytes} * wave_size + granule - 1) / granule;
  const uint64_t max_granules = Register::wavesize_field.in(shape.family).max();
  if (granules > max_granules) {
    return error(StatusCode::OutOfRange,
                 fmt::format("A work-item's scratch ({} bytes) exceeds the hardware's limit ({} "
                             "bytes).",
                             private_bytes, max_granules * granule / wave_size));
  }
  const uint32_t engines = std::max(shape.shader_engines, 1u);
  const uint32_t all = std::max(shape.compute_units * shape.slots_per_compute_unit, engines);
  const auto max_field = static_cast<uint32_t>(Register::waves_field.in(shape.family).max());
  const uint32_t divisor = counts_per_engine(shape.family) ? engines : 1;
  uint32_t field = (waves == 0 ? all : std::min(waves, all)) / divisor;
  field = std::clamp(field, 1u, max_field);

  ScratchPlan plan;
  plan.bytes_per_wave = granules * granule;
  plan.waves = field * divisor;
  plan.total_bytes = plan.bytes_per_wave * plan.waves;
  plan.tmpring_size =
      Register(shape.family).waves(field).wavesize(static_cast<uint32_t>(granules)).value();
  return plan;
}

}  // namespace doppel::kfd
