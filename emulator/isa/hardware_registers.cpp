#include "emulator/isa/hardware_registers.h"

#include <immintrin.h>

namespace doppel::isa {
namespace {

using emu::Wave;

uint32_t status_of(const Wave& wave) {
  // SCC, EXECZ, VCCZ, IN_TG, VALID: the bits a kernel can know.
  const uint32_t execz = wave.mask(kExecLo) == 0, vccz = wave.mask(kVccLo) == 0;
  return wave.scc | execz << 9 | vccz << 10 | 1u << 11 | 1u << 16;
}

}  // namespace

std::optional<uint32_t> read_hardware_register(const Wave& wave, uint32_t id) {
  switch (id) {
    case kHwRegMode:
      return wave.mode.bits();
    case kHwRegStatus:
      return status_of(wave);
    case kHwRegTrapSts:
      return wave.trap_status;
    case kHwRegGprAlloc:
      return (wave.vgpr_limit / 8 - 1) << 12;
    case kHwRegLdsAlloc:
      return static_cast<uint32_t>(wave.lds.size() / 512) << 12;
    case kHwRegIbSts:
      return 0;  // every memory operation completes before the next instruction
    case kHwRegShMemBases:
      return static_cast<uint32_t>(wave.apertures[0] >> 48 << 16 | wave.apertures[2] >> 48);
    case kHwRegFlatScratchLo:
      return static_cast<uint32_t>(wave.flat_scratch);
    case kHwRegFlatScratchHi:
      return static_cast<uint32_t>(wave.flat_scratch >> 32);
    case kHwRegHwId1:
      return wave.index & 0x1f;
    case kHwRegHwId2:
      return 0;
    case kHwRegShaderCycles:
      return static_cast<uint32_t>(wave.context->clock->now_ns()) & 0xfffff;
    default:
      return std::nullopt;
  }
}

bool write_hardware_register(Wave& wave, uint32_t id, uint32_t value) {
  switch (id) {
    case kHwRegMode:
      wave.mode.set(value);
      _mm_setcsr(wave.mode.mxcsr32());
      return true;
    case kHwRegTrapSts:
      wave.trap_status = value;
      return true;
    case kHwRegFlatScratchLo:
      wave.flat_scratch = (wave.flat_scratch & ~uint64_t{0xffffffff}) | value;
      return true;
    case kHwRegFlatScratchHi:
      wave.flat_scratch = (wave.flat_scratch & 0xffffffff) | uint64_t{value} << 32;
      return true;
    default:
      return false;
  }
}

}  // namespace doppel::isa
