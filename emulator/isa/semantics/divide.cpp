#include "emulator/isa/semantics/divide.h"

#include <array>

DOPPEL_BEGIN_LEVEL

namespace {

// 2/pi as a binary fraction, most significant bit first.
constexpr std::array<uint64_t, 19> kTwoOverPi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
constexpr uint32_t kFractionBits = 1201;  // hardware's table

/// 53 bits from bit `first`; zeros behind the table.
uint64_t fraction_bits(uint32_t first) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < 53; ++i) {
    const uint32_t position = first + i;
    const uint64_t bit =
        position < kFractionBits ? kTwoOverPi[position / 64] >> (63 - position % 64) & 1 : 0;
    bits = bits << 1 | bit;
  }
  return bits;
}

}  // namespace

double trig_preop(double value, uint32_t segment) {
  constexpr int kFirstLargeExponent = 1077, kHugeExponent = 1968;
  const int exponent = exponent_field(value);
  auto shift = static_cast<int>((segment & 31) * 53);
  if (exponent > kFirstLargeExponent) shift += exponent - kFirstLargeExponent;
  const auto bits = static_cast<double>(fraction_bits(static_cast<uint32_t>(shift)));
  return std::ldexp(bits, -53 - shift + (exponent >= kHugeExponent ? 128 : 0));
}

DOPPEL_END_LEVEL
