// Lowering: an Instruction becomes the Inst that the interpreter runs.
#pragma once

#include "emulator/isa/code_cache.h"
#include "emulator/isa/instruction.h"

namespace doppel::isa {

/// How a straight line of code goes on behind an instruction.
enum class Flow : uint8_t {
  Next,
  Branch,  // to a direct target, or on
  Jump,    // to a direct target
  Stop,    // nowhere that is known
};

/// Resolves operands, constants and handler of `instruction` at `pc` into `inst`.
Flow lower(const Instruction& instruction, uint64_t pc, CodeCache& code, Inst& inst);

}  // namespace doppel::isa
