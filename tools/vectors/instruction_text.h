// The instructions that a case tests, as text for its failure message.
#pragma once

#include <string>

#include "core/target.h"
#include "tools/vectors/isa_case.h"

namespace doppel::vectors {

/// "v_mov_b32_e32 v0, 1.0; v_add_f32_e32 v1, v0, v0": the body, disassembled for `target`.
std::string instruction_text(const IsaCase& isa_case, const Target* target);

}  // namespace doppel::vectors
