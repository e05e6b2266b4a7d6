#include "emulator/isa/operand.h"

#include <array>

namespace doppel::isa {
namespace {

constexpr std::array kTypes = {
#define OPERAND_TYPE(name, registers, kind) OperandTypeInfo{#name, registers, OperandKind::kind},
#include "emulator/isa/operand_types.inc"
#undef OPERAND_TYPE
};

// 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi), as f16, f32 and f64 bits.
constexpr std::array<uint16_t, 9> kHalf = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                           0xc000, 0x4400, 0xc400, 0x3118};
constexpr std::array<uint16_t, 9> kBfloat = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000,
                                             0xc000, 0x4080, 0xc080, 0x3e22};
constexpr std::array<uint32_t, 9> kSingle = {0x3f000000, 0xbf000000, 0x3f800000,
                                             0xbf800000, 0x40000000, 0xc0000000,
                                             0x40800000, 0xc0800000, 0x3e22f983};
constexpr std::array<uint64_t, 9> kDouble = {
    0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
    0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
    0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

uint64_t float_constant(uint32_t index, OperandType type) {
  switch (type) {
    case OperandType::F16:
    case OperandType::F16Bits:
    case OperandType::B16:
    case OperandType::I16:
    case OperandType::U16:
    case OperandType::Pk2F16:
    case OperandType::AccF16:
      return kHalf[index];
    case OperandType::BF16:
    case OperandType::Pk2BF16:
    case OperandType::AccBF16:
      return kBfloat[index];
    case OperandType::F64:
    case OperandType::B64:
    case OperandType::I64:
    case OperandType::U64:
      return kDouble[index];
    default:
      return kSingle[index];
  }
}

}  // namespace

const OperandTypeInfo& info(OperandType type) {
  return kTypes[static_cast<size_t>(type)];
}

uint64_t inline_constant(uint32_t code, OperandType type) {
  if (code >= kInlineHalf) return float_constant(code - kInlineHalf, type);
  const int64_t value = code <= kInline64 ? static_cast<int64_t>(code) - kInline0
                                          : static_cast<int64_t>(kInline64) - code;
  return static_cast<uint64_t>(value);
}

uint64_t literal_constant(uint32_t literal, OperandType type) {
  switch (type) {
    case OperandType::F64:
      return uint64_t{literal} << 32;
    case OperandType::I64:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal)));
    default:
      return literal;
  }
}

}  // namespace doppel::isa
