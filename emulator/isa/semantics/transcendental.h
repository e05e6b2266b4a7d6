// Reciprocals, roots, exponentials, logarithms and circular functions. Hardware's results are
// approximations (1 ulp, RDNA3 ISA manual); these are within 0.51 ulp, so within reach of any
// hardware that keeps its promise. Mostly straight-line double arithmetic, so that it vectorises.
#pragma once

#include "emulator/isa/semantics/float.h"

DOPPEL_BEGIN_LEVEL

inline constexpr auto frcp = [](auto a) { return decltype(a){1} / a; };
inline constexpr auto rcp_iflag_f32 = frcp;
inline constexpr auto fsqrt = [](auto a) { return std::sqrt(a); };
inline constexpr auto frsq = [](auto a) {
  using T = decltype(a);
  return static_cast<T>(1.0 / std::sqrt(static_cast<double>(a)));
};

/// The C library's exp2f: within 0.51 ulp, and what the captured kernels' results come from.
inline constexpr auto fexp = [](float x) { return std::exp2(x); };

/// Base-2 logarithm of a positive finite float.
inline double log2_of(float x) {
  const double value = x;
  const auto bits = std::bit_cast<uint64_t>(value);
  // value = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t above = (bits - kSqrtHalf) & 0xfff0000000000000;
  const double m = std::bit_cast<double>(bits - above);
  const auto e = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(above) >> 52));
  const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double sum = 1.0 / 19;
  sum = sum * s2 + 1.0 / 17;
  sum = sum * s2 + 1.0 / 15;
  sum = sum * s2 + 1.0 / 13;
  sum = sum * s2 + 1.0 / 11;
  sum = sum * s2 + 1.0 / 9;
  sum = sum * s2 + 1.0 / 7;
  sum = sum * s2 + 1.0 / 5;
  sum = sum * s2 + 1.0 / 3;
  constexpr double kTwoOverLn2 = 2.8853900817779268;
  return e + kTwoOverLn2 * (s * s2 * sum + s);
}
inline constexpr auto flog = [](float x) {
  const float regular = static_cast<float>(log2_of(x > 0.0f && x < INFINITY ? x : 1.0f));
  const float nan = is_nan(x) ? quieted(x) : from_bits<float>(0x7fc00000);
  const float special = x == 0.0f ? -INFINITY : x == INFINITY ? x : nan;
  return x > 0.0f && x < INFINITY ? regular : special;
};

/// sin(2 pi x) for a fraction of a turn, |x| <= 1/4.
inline double sine_of_turns(double x) {
  const double t = x * 6.283185307179586, t2 = t * t;
  double sum = 1.0 / 355687428096000;
  sum = sum * t2 - 1.0 / 1307674368000;
  sum = sum * t2 + 1.0 / 6227020800;
  sum = sum * t2 - 1.0 / 39916800;
  sum = sum * t2 + 1.0 / 362880;
  sum = sum * t2 - 1.0 / 5040;
  sum = sum * t2 + 1.0 / 120;
  sum = sum * t2 - 1.0 / 6;
  return t * t2 * sum + t;
}
/// The argument counts turns; beyond 256 of them hardware gives sin 0.
inline float sine(float x, double phase) {
  const double turns = double{x} + phase;
  const double rest = turns - std::floor(turns + 0.5);  // [-1/2, 1/2)
  const double folded = rest > 0.25 ? 0.5 - rest : rest < -0.25 ? -0.5 - rest : rest;
  return static_cast<float>(sine_of_turns(folded));
}
inline constexpr auto fsin = [](float x) {
  const float result = sine(x, 0.0);
  const float invalid = is_nan(x) ? x : from_bits<float>(0x7fc00000);
  if (!(std::abs(x) < INFINITY)) return invalid;
  return std::abs(x) > 256.0f ? 0.0f : x == 0.0f ? x : result;
};
inline constexpr auto fcos = [](float x) {
  const float result = sine(x, 0.25);
  const float invalid = is_nan(x) ? x : from_bits<float>(0x7fc00000);
  if (!(std::abs(x) < INFINITY)) return invalid;
  return std::abs(x) > 256.0f ? 1.0f : result;
};

DOPPEL_END_LEVEL
