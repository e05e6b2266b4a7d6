// Disassembler: instructions as text in LLVM's syntax, so that llvm-mc assembles it back to the
// same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/target.h"
#include "emulator/isa/instruction.h"

namespace doppel::isa {

/// The text of one instruction. Lane masks are SGPRs in wave32, SGPR pairs in wave64.
std::string disassemble(const Instruction& instruction, bool wave64 = false);

/// The text of the instruction that `words` begin with, or ".long 0x..." if there is none.
std::string disassemble_or_dwords(GfxFamily family, std::span<const uint32_t> words,
                                  bool wave64 = false);

}  // namespace doppel::isa
