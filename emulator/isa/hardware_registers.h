// The hardware registers that S_GETREG and S_SETREG reach. RDNA2 and RDNA3 ISA manuals, "Hardware
// registers"; numbers as LLVM's AMDGPU::Hwreg.
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/wave/wave.h"

namespace doppel::isa {

/// SIMM16 of S_GETREG and S_SETREG: which register, which bits.
struct HardwareRegister {
  uint32_t id = 0;
  uint32_t offset = 0;
  uint32_t width = 0;

  static constexpr HardwareRegister decode(uint32_t simm16) {
    return {simm16 & 0x3f, simm16 >> 6 & 0x1f, (simm16 >> 11 & 0x1f) + 1};
  }
  constexpr uint32_t mask() const { return static_cast<uint32_t>((uint64_t{1} << width) - 1); }
};

enum HardwareRegisterId : uint32_t {
  kHwRegMode = 1,
  kHwRegStatus = 2,
  kHwRegTrapSts = 3,
  kHwRegGprAlloc = 5,
  kHwRegLdsAlloc = 6,
  kHwRegIbSts = 7,
  kHwRegShMemBases = 15,
  kHwRegFlatScratchLo = 20,
  kHwRegFlatScratchHi = 21,
  kHwRegHwId1 = 23,
  kHwRegHwId2 = 24,
  kHwRegShaderCycles = 29,
};

/// The register's value, or nullopt for one that is not modelled.
std::optional<uint32_t> read_hardware_register(const emu::Wave& wave, uint32_t id);

/// Replaces the register's value. False for one that is not modelled. MODE takes effect at once,
/// MXCSR included.
bool write_hardware_register(emu::Wave& wave, uint32_t id, uint32_t value);

}  // namespace doppel::isa
