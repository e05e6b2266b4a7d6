// Insts that are no instruction of the guest: what cannot be fetched, decoded or run here faults
// when (and only when) a wave reaches it; a link joins two straight lines of decoded code.
#pragma once

#include <cstdint>

#include "emulator/isa/inst.h"

namespace doppel::isa {

/// An Inst that faults: `word` is no instruction of the target, or one of its graphics encodings.
void lower_illegal(uint64_t pc, uint32_t word, Inst& inst);
/// An Inst that faults: the address cannot be fetched.
void lower_unfetchable(uint64_t pc, Inst& inst);
/// Goes on at the Inst's pc, without counting as an instruction.
void lower_link(uint64_t pc, Inst& inst);
bool is_link(const Inst& inst);
/// What a link goes on with.
const Inst* behind_link(emu::Wave& wave, const Inst* link);

/// Handlers of instructions that use what the wave or the emulator does not have.
const Inst* raise_vgpr_limit(emu::Wave& wave, const Inst* inst);  // literal: the highest VGPR
const Inst* raise_sgpr_limit(emu::Wave& wave, const Inst* inst);
const Inst* raise_bad_source(emu::Wave& wave, const Inst* inst);
/// GDS or TFE, which decode and are not carried out.
const Inst* raise_bad_modifier(emu::Wave& wave, const Inst* inst);

}  // namespace doppel::isa
