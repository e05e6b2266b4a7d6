#include "emulator/cp/compute_registers.h"

#include <fmt/format.h>

#include "core/abi/kernel_descriptor.h"
#include "emulator/packet_outcome.h"

namespace doppel::emu {
namespace {

constexpr uint32_t kUconfigEnd = 0x10000;  // SET_UCONFIG_REG has 16 bits of offset, wrapped by none

/// Bytes per unit of TMPRING_SIZE.WAVESIZE: 256 dwords before gfx11, 64 from it on.
constexpr uint32_t scratch_granule(GfxFamily family) {
  return family == GfxFamily::Gfx9_4 || family == GfxFamily::Gfx10_3 ? 1024 : 256;
}

bool in_sh(uint32_t address) {
  return address >= regs::kShBase && address < regs::kShEnd;
}

bool in_uconfig(uint32_t address) {
  return address >= regs::kUconfigBase && address < kUconfigEnd;
}

}  // namespace

void set_scratch(Dispatch& dispatch, const GpuConfig& gpu, uint64_t base, uint32_t tmpring_size) {
  const GfxFamily family = gpu.target->family;
  const regs::ComputeTmpringSize tmpring(family, tmpring_size);
  dispatch.scratch_base = base;
  dispatch.scratch_bytes_per_wave = tmpring.wavesize() * scratch_granule(family);
  // Slots of the whole GPU before gfx11, of each shader engine from it on.
  const bool per_engine = scratch_granule(family) == 256;
  dispatch.scratch_waves = tmpring.waves() * (per_engine ? gpu.shader_engines : 1);
}

bool ComputeRegisters::write(uint32_t address, uint32_t value) {
  if (in_sh(address)) {
    sh_[address - regs::kShBase] = value;
    return true;
  }
  if (in_uconfig(address)) {
    uconfig_[address] = value;
    return true;
  }
  return address == regs::BIF_BX_PF0_GPU_HDP_FLUSH_REQ.in(family_);
}

std::optional<uint32_t> ComputeRegisters::read(uint32_t address) const {
  if (in_sh(address)) return sh_[address - regs::kShBase];
  if (in_uconfig(address)) {
    const auto found = uconfig_.find(address);
    return found == uconfig_.end() ? 0 : found->second;
  }
  if (address == regs::BIF_BX_PF0_GPU_HDP_FLUSH_DONE.in(family_)) return ~0u;
  return std::nullopt;
}

uint32_t ComputeRegisters::sh(const regs::RegisterRow& row, uint32_t index) const {
  const uint32_t address = row.in(family_);
  return address == 0 ? 0 : sh_[address - regs::kShBase + index];
}

uint64_t ComputeRegisters::sh_pair(const regs::RegisterRow& low) const {
  return sh(low) | uint64_t{sh(low, 1) & 0xff} << 32;
}

std::expected<Dispatch, Fault> ComputeRegisters::dispatch(std::array<uint32_t, 3> dims,
                                                          uint32_t initiator_value) const {
  const regs::ComputeDispatchInitiator initiator(family_, initiator_value);
  if (!initiator.compute_shader_en()) {
    return fault(FaultKind::BadPacket,
                 fmt::format("The dispatch initiator enables no compute shader (0x{:08x}).",
                             initiator_value));
  }
  if (initiator.ordered_append_enbl() || initiator.restore() || initiator.amp_shader_en() ||
      initiator.interleave_2d_en()) {
    return fault(FaultKind::UnsupportedPacket,
                 fmt::format("The dispatch initiator asks for a mode that is not modelled "
                             "(0x{:08x}).",
                             initiator_value));
  }
  Dispatch dispatch;
  dispatch.target = gpu_.target;
  dispatch.program = sh_pair(regs::COMPUTE_PGM_LO) << 8;
  dispatch.rsrc1 = sh(regs::COMPUTE_PGM_RSRC1);
  dispatch.rsrc2 = sh(regs::COMPUTE_PGM_RSRC2);
  dispatch.rsrc3 = sh(regs::COMPUTE_PGM_RSRC3);
  dispatch.wave32 = initiator.cs_w32_en();
  for (uint32_t axis = 0; axis < 3; ++axis) {
    const regs::ComputeNumThreadX threads(family_, sh(regs::COMPUTE_NUM_THREAD_X, axis));
    const uint32_t full = threads.num_thread_full();
    uint32_t end = dims[axis];
    if (initiator.use_thread_dimensions() && full != 0) {
      end = dims[axis] / full + (dims[axis] % full != 0);
      dispatch.last_workgroup[axis] = dims[axis] % full;
    } else if (initiator.partial_tg_en()) {
      dispatch.last_workgroup[axis] = threads.num_thread_partial();
    }
    const uint32_t start = initiator.force_start_at_000() ? 0 : sh(regs::COMPUTE_START_X, axis);
    // The packet's dimensions are where the grid ends, counted from workgroup 0.
    dispatch.start[axis] = start;
    dispatch.grid[axis] = end > start ? end - start : 0;
    dispatch.workgroup[axis] = full;
  }
  for (uint32_t i = 0; i < dispatch.user_data.size(); ++i) {
    dispatch.user_data[i] = sh(regs::COMPUTE_USER_DATA_0, i);
  }
  dispatch.lds_bytes = regs::ComputePgmRsrc2(family_, dispatch.rsrc2).lds_size() * abi::kLdsGranule;
  if (regs::ComputePgmRsrc2(family_, dispatch.rsrc2).scratch_en()) {
    set_scratch(dispatch, gpu_, sh_pair(regs::COMPUTE_DISPATCH_SCRATCH_BASE_LO) << 8,
                sh(regs::COMPUTE_TMPRING_SIZE));
  }
  return dispatch;
}

}  // namespace doppel::emu
