// Operands and immediates as text, in LLVM's syntax.
#pragma once

#include <cstdint>
#include <string>

#include "core/target.h"
#include "emulator/isa/operand.h"

namespace doppel::isa {

/// "s4", "s[4:5]", "vcc_lo", "null", "v7", "v[6:7]", "ttmp[0:3]": `code` as in the 9-bit operand
/// space with gfx11's numbers.
std::string register_text(uint32_t code, uint32_t registers);

/// A register, inline constant, special value, or (code kLiteral) `literal`.
std::string source_text(uint32_t code, OperandType type, uint32_t literal);

/// An SGPR operand that holds a lane mask: "s6" in wave32, "s[6:7]" in wave64.
std::string mask_text(uint32_t code, bool wave64);

/// The operand of SOPP and SOPK instructions that is not a register.
std::string immediate_text(OperandType type, uint32_t value, GfxFamily family);

}  // namespace doppel::isa
