// Text: an instruction's text as it grows, operand by operand, in LLVM's syntax. What no assembler
// produces makes it invalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "emulator/isa/instruction.h"

namespace doppel::isa {

/// How a source is modified where it is read.
struct SourceModifiers {
  bool neg = false;
  bool abs = false;
  bool sext = false;
};

class Text {
 public:
  Text(const Instruction& instruction, bool wave64) : instruction_(instruction), wave64_(wave64) {}

  bool valid() const { return valid_; }
  const std::string& str() const { return text_; }

  const Instruction& instruction() const { return instruction_; }
  uint32_t field(Field name) const { return instruction_.field(name); }
  bool gfx10() const { return instruction_.family == GfxFamily::Gfx10_3; }

  bool wave64() const { return wave64_; }

  /// Invalid unless `condition`.
  void require(bool condition) { valid_ &= condition; }

  void mnemonic(std::string_view name, std::string_view suffix = {});
  /// Begins a further operand, for callers that write its text themselves with raw().
  void begin_operand();
  void raw(std::string_view text) { text_ += text; }
  /// " name", and " name:value" forms of what follows the operands.
  void flag(std::string_view name, bool set);
  void hex_immediate(uint32_t value);
  void decimal_immediate(int64_t value);

  // Operands.
  void vgpr(uint32_t number, uint32_t registers);
  /// A scalar register (tuple) by its encoded number.
  void sgpr(uint32_t code, uint32_t registers);
  /// A lane mask: one SGPR, or two in wave64.
  void mask(uint32_t code);
  /// VCC as the wave's size has it.
  void vcc();
  /// Any source operand by its 9-bit code; a literal is the instruction's.
  void source(uint32_t code, OperandType type, SourceModifiers modifiers = {});
  void literal();

 private:
  bool is_vector() const;
  /// Float constants are written as the bits that the operand gets: vector integers, scalar f16.
  bool prints_half_constants(OperandType type) const;
  bool has_half_literal(OperandType type) const;
  void register_tuple(std::string_view prefix, uint32_t number, uint32_t registers);
  void scalar_register(uint32_t code, uint32_t registers);
  bool special_register(uint32_t code, uint32_t registers);
  void constant(uint32_t code, OperandType type);

  const Instruction& instruction_;
  bool wave64_;
  std::string text_;
  bool valid_ = true;
  bool has_operands_ = false;
};

/// Whether a format's fields that this instruction leaves unused are 0 is checked by these printers
/// of the formats; they leave `text` invalid where LLVM refuses the word.
void print_scalar(Text& text);         // SOP1, SOP2, SOPC, SOPK, SOPP
void print_vector(Text& text);         // VOP1, VOP2, VOPC, VOP3, VOP3P, VINTERP
void print_dual(Text& text);           // VOPD
void print_scalar_memory(Text& text);  // SMEM
void print_vector_memory(Text& text);  // DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF

}  // namespace doppel::isa
