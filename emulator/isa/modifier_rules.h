// ModifierRules: which bits of the 64-bit vector encodings mean something for an instruction, which
// are ignored, and, by omission, which no assembler produces. Derived from the operand types and
// modifier_rules.inc.
#pragma once

#include <cstdint>

#include "emulator/isa/row.h"

namespace doppel::isa {

struct ModifierRules {
  uint8_t neg = 0;  // bit i: source i
  uint8_t abs = 0;
  uint8_t neg_ignored = 0;  // may be set, without effect
  uint8_t abs_ignored = 0;
  uint8_t op_sel = 0;  // bit i: source i; bit 3: the destination
  uint8_t op_sel_ignored = 0;
  bool clamp = false;
  bool omod = false;
};

/// The rules of a VOP1, VOP2, VOPC or VOP3 row in the VOP3 encoding.
const ModifierRules& modifier_rules(const Row& row);

}  // namespace doppel::isa
