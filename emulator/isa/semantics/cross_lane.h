// Instructions in which lanes see each other's registers, and those that know their lane number.
#pragma once

#include "emulator/isa/semantics/lanes.h"
#include "emulator/isa/semantics/scalar.h"

DOPPEL_BEGIN_LEVEL

/// A handler for the whole wave.
template <Handler kHandler>
struct whole_wave {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    return kHandler(wave, inst);
  }
};
/// A handler for 32 lanes.
template <Handler kHandler>
struct half_wave : whole_wave<kHandler> {
  static constexpr Scope scope = Scope::Lanes;
};

const Inst* vector_readfirstlane_b32(Wave& wave, const Inst* inst);
const Inst* vector_readlane_b32(Wave& wave, const Inst* inst);
const Inst* vector_writelane_b32(Wave& wave, const Inst* inst);
const Inst* vector_permlane16_b32(Wave& wave, const Inst* inst);
const Inst* vector_permlanex16_b32(Wave& wave, const Inst* inst);
const Inst* vector_permlane64_b32(Wave& wave, const Inst* inst);
const Inst* vector_swap_b32(Wave& wave, const Inst* inst);
const Inst* vector_swap_b16(Wave& wave, const Inst* inst);
const Inst* vector_swaprel_b32(Wave& wave, const Inst* inst);
const Inst* vector_movreld_b32(Wave& wave, const Inst* inst);
const Inst* vector_movrels_b32(Wave& wave, const Inst* inst);
const Inst* vector_movrelsd_b32(Wave& wave, const Inst* inst);
const Inst* vector_movrelsd_2_b32(Wave& wave, const Inst* inst);
const Inst* vector_mbcnt_lo_u32_b32(Wave& wave, const Inst* inst);
const Inst* vector_mbcnt_hi_u32_b32(Wave& wave, const Inst* inst);
const Inst* vector_mqsad_u32_u8(Wave& wave, const Inst* inst);
const Inst* vector_nop(Wave& wave, const Inst* inst);

DOPPEL_END_LEVEL
