#include "emulator/isa/text.h"

#include <fmt/format.h>

namespace doppel::isa {
namespace {

constexpr uint32_t kVccPair = 106;
constexpr uint32_t kExecPair = 126;
constexpr uint32_t kTtmpCount = 16;

/// SGPR tuples are aligned; LLVM reads a misaligned number as the tuple it lies in.
uint32_t alignment_of(uint32_t registers) {
  if (registers <= 1) return 1;
  return registers == 2 ? 2 : 4;
}

bool is_half_integer(OperandType type) {
  return type == OperandType::I16 || type == OperandType::U16;
}

/// Operands whose literals have 16 bits.
bool is_half(OperandType type) {
  return is_half_integer(type) || type == OperandType::F16 || type == OperandType::B16 ||
         type == OperandType::BF16 || type == OperandType::Mix;
}

std::string_view named_register(uint32_t code) {
  switch (code) {
    case kVccLo:
      return "vcc_lo";
    case kVccHi:
      return "vcc_hi";
    case kExecLo:
      return "exec_lo";
    case kExecHi:
      return "exec_hi";
    default:
      return {};
  }
}

std::string_view named_source(uint32_t code) {
  switch (code) {
    case kSharedBase:
      return "src_shared_base";
    case kSharedLimit:
      return "src_shared_limit";
    case kPrivateBase:
      return "src_private_base";
    case kPrivateLimit:
      return "src_private_limit";
    case kPopsExitingWaveId:
      return "src_pops_exiting_wave_id";
    case kVccz:
      return "src_vccz";
    case kExecz:
      return "src_execz";
    case kScc:
      return "src_scc";
    default:
      return {};
  }
}

std::string_view float_constant_text(uint32_t code, OperandType type) {
  constexpr std::string_view kValues[] = {"0.5", "-0.5", "1.0", "-1.0",
                                          "2.0", "-2.0", "4.0", "-4.0"};
  if (code < kInlineInv2Pi) return kValues[code - kInlineHalf];
  return registers_of(type) == 2 ? "0.15915494309189532" : "0.15915494";
}

}  // namespace

bool Text::is_vector() const {
  return instruction_.row->name.starts_with("v_");
}

bool Text::prints_half_constants(OperandType type) const {
  if (is_vector()) {
    const bool bits = type == OperandType::B16 && instruction_.row->dst == OperandType::B16;
    return bits || is_half_integer(type);
  }
  return type == OperandType::F16 && instruction_.format() != Format::SOP1;
}

bool Text::has_half_literal(OperandType type) const {
  if (is_vector()) return is_half(type);
  return type == OperandType::F16 && instruction_.format() != Format::SOP1;
}

void Text::mnemonic(std::string_view name, std::string_view suffix) {
  text_ += name;
  text_ += suffix;
  has_operands_ = false;
}

void Text::begin_operand() {
  text_ += has_operands_ ? ", " : " ";
  has_operands_ = true;
}

void Text::flag(std::string_view name, bool set) {
  if (!set) return;
  text_ += ' ';
  text_ += name;
}

void Text::hex_immediate(uint32_t value) {
  begin_operand();
  fmt::format_to(std::back_inserter(text_), "0x{:x}", value);
}

void Text::decimal_immediate(int64_t value) {
  begin_operand();
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void Text::register_tuple(std::string_view prefix, uint32_t number, uint32_t registers) {
  if (registers == 1) {
    fmt::format_to(std::back_inserter(text_), "{}{}", prefix, number);
  } else {
    fmt::format_to(std::back_inserter(text_), "{}[{}:{}]", prefix, number, number + registers - 1);
  }
}

void Text::vgpr(uint32_t number, uint32_t registers) {
  begin_operand();
  require(number + registers <= 256);
  register_tuple("v", number, registers);
}

void Text::scalar_register(uint32_t code, uint32_t registers) {
  const uint32_t alignment = alignment_of(registers);
  if (code < kSgprEnd) {
    const uint32_t first = code / alignment * alignment;
    require(first + registers <= kSgprEnd);
    register_tuple("s", first, registers);
    return;
  }
  if (code >= kTtmp0 && code < kTtmpEnd) {
    const uint32_t first = (code - kTtmp0) / alignment * alignment;
    require(first + registers <= kTtmpCount);
    register_tuple("ttmp", first, registers);
    return;
  }
  require(special_register(code, registers));
}

/// NULL and M0 have each other's number on gfx10.3.
bool Text::special_register(uint32_t code, uint32_t registers) {
  const uint32_t null = gfx10() ? 125 : 124;
  if (code == null) {
    raw("null");
    return registers <= 2;
  }
  if (registers == 2) {
    raw(code == kVccPair ? "vcc" : "exec");
    return code == kVccPair || code == kExecPair;
  }
  if (code == (gfx10() ? 124u : 125u)) {
    raw("m0");
  } else {
    raw(named_register(code));
    require(!named_register(code).empty());
  }
  return registers == 1;
}

void Text::sgpr(uint32_t code, uint32_t registers) {
  begin_operand();
  require(code <= kExecHi);
  scalar_register(code, registers);
}

void Text::mask(uint32_t code) {
  sgpr(code, wave64_ ? 2 : 1);
}

void Text::vcc() {
  begin_operand();
  raw(wave64_ ? "vcc" : "vcc_lo");
}

void Text::constant(uint32_t code, OperandType type) {
  if (code > kInlineMinus16 && prints_half_constants(type)) {
    // Floats as the bits that a 16-bit integer operand gets.
    const auto bits = static_cast<uint16_t>(inline_constant(code, OperandType::F16));
    fmt::format_to(std::back_inserter(text_), "0x{:x}", bits);
  } else if (code <= kInline64) {
    text_ += std::to_string(code - kInline0);
  } else if (code <= kInlineMinus16) {
    text_ += std::to_string(static_cast<int>(kInline64) - static_cast<int>(code));
  } else {
    text_ += float_constant_text(code, type);
  }
}

void Text::literal() {
  begin_operand();
  fmt::format_to(std::back_inserter(text_), "0x{:x}", instruction_.literal());
}

void Text::source(uint32_t code, OperandType type, SourceModifiers modifiers) {
  begin_operand();
  const uint32_t registers = type == OperandType::Mask ? (wave64_ ? 2 : 1) : registers_of(type);
  // "-1" would be the constant; its negation is written as a function.
  const bool neg_call =
      modifiers.neg && !modifiers.abs && (is_inline_constant(code) || code == kLiteral);
  if (modifiers.neg) raw(neg_call ? "neg(" : "-");
  if (modifiers.abs) raw("|");
  if (modifiers.sext) raw("sext(");
  if (is_vgpr(code)) {
    require(code - kVgpr0 + registers <= 256);
    register_tuple("v", code - kVgpr0, registers);
  } else if (is_scalar_register(code)) {
    scalar_register(code, registers);
  } else if (is_inline_constant(code)) {
    constant(code, type);
  } else if (code == kLiteral) {
    require(instruction_.has_literal);
    const uint32_t mask = has_half_literal(type) ? 0xffff : ~0u;
    fmt::format_to(std::back_inserter(text_), "0x{:x}", instruction_.literal() & mask);
  } else if (code == kLdsDirect) {
    require(registers == 1);
    raw("lds_direct");
  } else {
    require(!named_source(code).empty());
    raw(named_source(code));
  }
  if (modifiers.sext) raw(")");
  if (modifiers.abs) raw("|");
  if (neg_call) raw(")");
}

}  // namespace doppel::isa
