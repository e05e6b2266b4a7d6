// Operand types of instruction rows, and the numbers of the operand space: the 9-bit source codes
// of RDNA (scalar registers, inline constants, special values, vector registers).
#pragma once

#include <cstdint>
#include <string_view>

namespace doppel::isa {

/// What an operand holds. The registers it takes follow from it; so do the value of an inline
/// constant, how a 32-bit literal extends, and where the neg and abs modifiers act.
enum class OperandType : uint8_t {
#define OPERAND_TYPE(name, registers, kind) name,
#include "emulator/isa/operand_types.inc"
#undef OPERAND_TYPE
};

enum class OperandKind : uint8_t {
  None,
  Bits,         // integers, raw bits
  Float,        // 16-, 32- or 64-bit floating point
  PackedFloat,  // two f16 or bf16 in a register
  PackedBits,   // several small integers in a register
  Mask,         // one bit a lane: one SGPR in wave32, two in wave64
  Scalar,       // an SGPR written or read by a vector instruction
  Immediate,    // not a register: an immediate with its own syntax
};

struct OperandTypeInfo {
  std::string_view name;
  uint8_t registers;
  OperandKind kind;
};

const OperandTypeInfo& info(OperandType type);
/// Types that take half a register.
constexpr bool is_16bit(OperandType type) {
  return type == OperandType::F16 || type == OperandType::F16Bits || type == OperandType::B16 ||
         type == OperandType::I16 || type == OperandType::U16 || type == OperandType::BF16;
}
inline uint32_t registers_of(OperandType type) {
  return info(type).registers;
}

/// Codes of the 9-bit source operand space (RDNA3 ISA manual, "Scalar Operands"), with gfx11's
/// numbers of NULL and M0; the decoder renumbers gfx10.3's, which are swapped.
enum Code : uint32_t {
  kSgprEnd = 106,  // s0..s105
  kVccLo = 106,
  kVccHi = 107,
  kTtmp0 = 108,
  kTtmpEnd = 124,
  kNull = 124,
  kM0 = 125,
  kExecLo = 126,
  kExecHi = 127,
  kInline0 = 128,       // 0
  kInline64 = 192,      // 64
  kInlineMinus1 = 193,  // -1
  kInlineMinus16 = 208,
  kDpp8 = 233,
  kDpp8Fi = 234,
  kSharedBase = 235,
  kSharedLimit = 236,
  kPrivateBase = 237,
  kPrivateLimit = 238,
  kPopsExitingWaveId = 239,
  kInlineHalf = 240,  // 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0
  kInlineInv2Pi = 248,
  kSdwa = 249,
  kDpp16 = 250,
  kVccz = 251,
  kExecz = 252,
  kScc = 253,
  kLdsDirect = 254,
  kLiteral = 255,
  kVgpr0 = 256,
};

constexpr bool is_vgpr(uint32_t code) {
  return code >= kVgpr0;
}
constexpr bool is_inline_constant(uint32_t code) {
  return (code >= kInline0 && code <= kInlineMinus16) ||
         (code >= kInlineHalf && code <= kInlineInv2Pi);
}
/// A register of the scalar file, VCC, TTMP, NULL, M0 and EXEC included.
constexpr bool is_scalar_register(uint32_t code) {
  return code <= kExecHi;
}

/// SGPR tuples begin at even numbers, from four registers on at multiples of four: hardware ignores
/// the low bits of the code.
constexpr uint32_t aligned_sgpr(uint32_t code, uint32_t registers) {
  if (code > kExecHi || registers < 2) return code;
  return code & ~(registers < 4 ? 1u : 3u);
}

/// The bits an inline constant has as an operand of `type` (64-bit types fill 64 bits).
uint64_t inline_constant(uint32_t code, OperandType type);

/// The bits a 32-bit literal has as an operand of `type`: the high half of an f64, sign-extended
/// as a signed and zero-extended as any other 64-bit integer.
uint64_t literal_constant(uint32_t literal, OperandType type);

}  // namespace doppel::isa
