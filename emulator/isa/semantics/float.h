// Float arithmetic as pure functions of values; f16 operands arrive as float. Rounding and denormal
// modes are MXCSR's (emu::Mode), except where a function takes the Mode.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/isa/row.h"
#include "emulator/isa/semantics/level.h"
#include "emulator/wave/wave.h"

DOPPEL_BEGIN_LEVEL

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
constexpr bits_of<T> to_bits(T value) {
  return std::bit_cast<bits_of<T>>(value);
}
template <class T>
constexpr T from_bits(bits_of<T> bits) {
  return std::bit_cast<T>(bits);
}
template <class T>
struct FloatFormat;
template <>
struct FloatFormat<float> {
  static constexpr uint32_t kSign = 0x80000000, kExponent = 0x7f800000, kFraction = 0x007fffff;
  static constexpr uint32_t kQuiet = 0x00400000, kNan = 0x7fc00000;
  static constexpr int kFractionBits = 23, kBias = 127, kMaxExponent = 255;
};
template <>
struct FloatFormat<double> {
  static constexpr uint64_t kSign = 0x8000000000000000, kExponent = 0x7ff0000000000000,
                            kFraction = 0x000fffffffffffff;
  static constexpr uint64_t kQuiet = 0x0008000000000000, kNan = 0x7ff8000000000000;
  static constexpr int kFractionBits = 52, kBias = 1023, kMaxExponent = 2047;
};
template <class T>
constexpr bool is_nan(T value) {
  return value != value;
}
template <class T>
constexpr bool is_signalling(T value) {
  return is_nan(value) && (to_bits(value) & FloatFormat<T>::kQuiet) == 0;
}
template <class T>
constexpr T quieted(T value) {
  return from_bits<T>(to_bits(value) | FloatFormat<T>::kQuiet);
}
/// The biased exponent field.
template <class T>
constexpr int exponent_field(T value) {
  return static_cast<int>((to_bits(value) & FloatFormat<T>::kExponent) >>
                          FloatFormat<T>::kFractionBits);
}
template <class T>
constexpr T with_sign(T magnitude, bool negative) {
  const auto bits = to_bits(magnitude) & ~FloatFormat<T>::kSign;
  return from_bits<T>(bits | (negative ? FloatFormat<T>::kSign : 0));
}
template <class T>
constexpr bool sign_of(T value) {
  return (to_bits(value) & FloatFormat<T>::kSign) != 0;
}

inline constexpr auto add = [](auto a, auto b) { return a + b; };
inline constexpr auto sub = [](auto a, auto b) { return a - b; };
inline constexpr auto subrev = [](auto a, auto b) { return b - a; };
inline constexpr auto mul = [](auto a, auto b) { return a * b; };
inline constexpr auto fma = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
inline constexpr auto fmac = fma;
inline constexpr auto fmamk = fma;
inline constexpr auto fmaak = fma;

/// a * b + c of f16 values, to be rounded to f16 once. The sum is rounded to odd: to double, then
/// to float, so that the last rounding sees whether anything was lost.
inline constexpr auto fma_f16 = [](float a, float b, float c) {
  const double product = double{a} * double{b};  // exact
  const double addend = c;
  const double sum = product + addend;
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (addend - back);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  const bool inexact = lost != 0.0 && lost - lost == 0.0;  // finite
  const bool toward_zero = (lost < 0.0) != (sum < 0.0);
  const bool even = (bits & 1) == 0;
  bits = inexact && even ? (toward_zero ? bits - 1 : bits | 1) : bits;
  constexpr uint64_t kBelowFloat = (uint64_t{1} << 29) - 1;
  const bool finite = (bits & 0x7ff0000000000000) != 0x7ff0000000000000;
  const uint64_t sticky = (bits & kBelowFloat) != 0 ? uint64_t{1} << 29 : 0;
  return static_cast<float>(std::bit_cast<double>(finite ? (bits & ~kBelowFloat) | sticky : bits));
};

/// DX9 rule: 0 times anything is 0.
inline constexpr auto mul_dx9_zero_f32 = [](float a, float b) {
  return a == 0.0f || b == 0.0f ? 0.0f : a * b;
};
inline constexpr auto fma_dx9_zero_f32 = [](float a, float b, float c) {
  return a == 0.0f || b == 0.0f ? c : std::fma(a, b, c);
};
inline constexpr auto fmac_dx9_zero_f32 = fma_dx9_zero_f32;

// Minimum and maximum (RDNA3 ISA manual, V_MIN_F32): a signalling NaN is returned quieted in IEEE
// mode; else the operand that is a number; -0 is less than +0. Results are flushed as MODE says.

/// What min and max need of MODE for one width.
struct MinMaxMode {
  bool ieee;
  bool flush;
};

template <class T>
constexpr T flushed(const MinMaxMode& mode, T value) {
  const auto bits = to_bits(value);
  const bool denormal = (bits & FloatFormat<T>::kExponent) == 0;
  return mode.flush && denormal ? from_bits<T>(bits & FloatFormat<T>::kSign) : value;
}
template <class T>
constexpr T choose_number(const MinMaxMode& mode, T a, T b, T chosen) {
  T result = is_nan(a) ? b : is_nan(b) ? a : chosen;
  result = mode.ieee && is_signalling(b) ? quieted(b) : result;
  result = mode.ieee && is_signalling(a) ? quieted(a) : result;
  return flushed(mode, result);
}
inline constexpr auto fmin = [](const MinMaxMode& mode, auto a, auto b) {
  using T = decltype(a);
  const T equal = from_bits<T>(to_bits(a) | to_bits(b));
  return choose_number(mode, a, b, a < b ? a : a > b ? b : equal);
};
inline constexpr auto fmax = [](const MinMaxMode& mode, auto a, auto b) {
  using T = decltype(a);
  const T equal = from_bits<T>(to_bits(a) & to_bits(b));
  return choose_number(mode, a, b, a > b ? a : a < b ? b : equal);
};
inline constexpr auto fmin3 = [](const MinMaxMode& mode, auto a, auto b, auto c) {
  return fmin(mode, fmin(mode, a, b), c);
};
inline constexpr auto fmax3 = [](const MinMaxMode& mode, auto a, auto b, auto c) {
  return fmax(mode, fmax(mode, a, b), c);
};
inline constexpr auto fmaxmin = [](const MinMaxMode& mode, auto a, auto b, auto c) {
  return fmin(mode, fmax(mode, a, b), c);
};
inline constexpr auto fminmax = [](const MinMaxMode& mode, auto a, auto b, auto c) {
  return fmax(mode, fmin(mode, a, b), c);
};
inline constexpr auto fmed3 = [](const MinMaxMode& mode, auto a, auto b, auto c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return fmin3(mode, a, b, c);
  const auto largest = fmax3(mode, a, b, c);
  if (largest == a) return fmax(mode, b, c);
  return largest == b ? fmax(mode, a, c) : fmax(mode, a, b);
};

// Rounding to integral values.
inline constexpr auto ftrunc = [](auto a) { return std::trunc(a); };
inline constexpr auto fceil = [](auto a) { return std::ceil(a); };
inline constexpr auto ffloor = [](auto a) { return std::floor(a); };
/// To nearest even, whatever MODE says: floor(a + 0.5), less 1 for odd ties. A result of 0 is +0.
inline constexpr auto frndne = [](auto a) {
  using T = decltype(a);
  const T below = std::floor(a), rest = a - below;
  const bool odd = std::floor(below * T(0.5)) * T(2) != below;
  const T rounded = rest > T(0.5) || (rest == T(0.5) && odd) ? below + T(1) : below;
  const bool integral = !(std::abs(a) < T(uint64_t{1} << FloatFormat<T>::kFractionBits));
  return integral ? a : rounded == T(0) ? T(0) : rounded;
};
/// Never 1, however close below an integer the argument is.
inline constexpr auto ffract = [](auto a) {
  using T = decltype(a);
  const T fraction = a - std::floor(a);
  const T largest = from_bits<T>(to_bits(T(1)) - 1);
  return fraction >= T(1) ? largest : fraction;
};
inline constexpr auto ffract_f16 = [](float a) {
  constexpr float kLargest = 0x1.ffcp-1f;
  const float fraction = a - std::floor(a);
  return fraction > kLargest ? kLargest : fraction;
};

// Exponent and significand.
/// In [1/2, 1), with the sign; zero, infinity and NaN are themselves.
inline constexpr auto frexp_mant = [](auto a) {
  using T = decltype(a);
  using F = FloatFormat<T>;
  const int field = exponent_field(a);
  if (field == F::kMaxExponent) return is_nan(a) ? quieted(a) : a;
  if (a == T(0)) return with_sign(T(0), sign_of(a));
  auto fraction = to_bits(a) & F::kFraction;
  if (field == 0) {
    const int up =
        std::countl_zero(fraction) - (static_cast<int>(sizeof(T) * 8) - 1 - F::kFractionBits);
    fraction = fraction << up & F::kFraction;
  }
  const auto half = static_cast<decltype(fraction)>(F::kBias - 1) << F::kFractionBits;
  return from_bits<T>((to_bits(a) & F::kSign) | half | fraction);
};
/// Of the exponent field: 0 has the exponent of the smallest normal number, less one.
inline constexpr auto frexp_exp = [](auto a) {
  using T = decltype(a);
  using F = FloatFormat<T>;
  const int field = exponent_field(a);
  if (field == F::kMaxExponent) return 0;
  const auto fraction = to_bits(a) & F::kFraction;
  const int leading = static_cast<int>(sizeof(T) * 8) - F::kFractionBits;
  const int denormal = a == T(0) ? 0 : leading - std::countl_zero(fraction);
  return (field != 0 ? field : denormal) - F::kBias + 1;
};
/// a * 2^exponent, rounded once.
inline constexpr auto fldexp = [](auto a, int exponent) {
  using T = decltype(a);
  if constexpr (sizeof(T) == 8) {
    return std::ldexp(a, exponent);
  } else {
    const int clamped = exponent < -400 ? -400 : exponent > 400 ? 400 : exponent;
    const auto scale = std::bit_cast<double>(static_cast<uint64_t>(1023 + clamped) << 52);
    return static_cast<T>(double{a} * scale);
  }
};

/// V_CMP_CLASS: bit i of `mask` asks for class i.
template <class Bits>
constexpr bool in_class(Bits bits, uint32_t mask, Bits sign, Bits exponent, Bits quiet) {
  const bool negative = (bits & sign) != 0;
  const Bits magnitude = bits & ~sign;
  uint32_t number;  // of the class
  if (magnitude > exponent) {
    number = (bits & quiet) != 0 ? 1 : 0;
  } else if (magnitude == exponent) {
    number = negative ? 2 : 9;
  } else if (magnitude == 0) {
    number = negative ? 5 : 6;
  } else if ((magnitude & exponent) == 0) {
    number = negative ? 4 : 7;
  } else {
    number = negative ? 3 : 8;
  }
  return (mask >> number & 1) != 0;
}
inline constexpr auto fclass = [](auto value, auto mask) {
  using T = decltype(value);
  if constexpr (sizeof(T) == 2) {
    return in_class<uint32_t>(value, mask, 0x8000, 0x7c00, 0x0200);
  } else {
    using F = FloatFormat<T>;
    return in_class<bits_of<T>>(to_bits(value), mask, F::kSign, F::kExponent, F::kQuiet);
  }
};

// Cube maps: the face (id), its coordinates (sc, tc) and twice the major axis (ma).
constexpr int major_axis(float x, float y, float z) {
  const float ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
}
inline constexpr auto cubeid_f32 = [](float x, float y, float z) {
  const int axis = major_axis(x, y, z);
  const float major = axis == 2 ? z : axis == 1 ? y : x;
  return static_cast<float>(2 * axis + (major < 0 ? 1 : 0));
};
inline constexpr auto cubesc_f32 = [](float x, float y, float z) {
  const int axis = major_axis(x, y, z);
  if (axis == 2) return z < 0 ? -x : x;
  return axis == 1 ? x : x < 0 ? z : -z;
};
inline constexpr auto cubetc_f32 = [](float x, float y, float z) {
  return major_axis(x, y, z) == 1 ? (y < 0 ? -z : z) : -y;
};
inline constexpr auto cubema_f32 = [](float x, float y, float z) {
  const int axis = major_axis(x, y, z);
  return 2.0f * (axis == 2 ? z : axis == 1 ? y : x);
};

inline constexpr auto mullit_f32 = [](float a, float b, float c) {
  constexpr float kMost = -3.402823466e+38f;
  const bool clamps = b == kMost || b == -INFINITY || is_nan(b) || c <= 0.0f || is_nan(c);
  return clamps ? kMost : mul_dx9_zero_f32(a, b);
};

DOPPEL_END_LEVEL
