// Disassembler: instructions as text in LLVM's syntax, so that llvm-mc assembles it back to the
// same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/target.h"
#include "emulator/isa/instruction.h"

namespace doppel::isa {

/// The text of one instruction; nullopt if no assembler produces it: reserved bits, modifiers that
/// it doesn't have, register tuples that there are not. Waves ignore such bits and execute it all
/// the same, as hardware does. Lane masks are SGPRs
/// in wave32, SGPR pairs in wave64.
std::optional<std::string> assembly(const Instruction& instruction, bool wave64 = false);

/// As assembly, or ".long 0x..." and the instruction's name in a comment.
std::string disassemble(const Instruction& instruction, bool wave64 = false);

/// The text of the instruction that `words` begin with, or ".long 0x..." if there is none.
std::string disassemble_or_dwords(GfxFamily family, std::span<const uint32_t> words,
                                  bool wave64 = false);

}  // namespace doppel::isa
