// Conversions. Float to integer truncates and saturates; NaN gives 0. RDNA3 ISA manual, V_CVT_*.
#pragma once

#include "emulator/isa/semantics/float.h"
#include "emulator/isa/semantics/half.h"
#include "emulator/isa/semantics/integer.h"

DOPPEL_BEGIN_LEVEL

template <class To, class From>
constexpr To to_integer(From value) {
  constexpr auto kMin = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From kLimit =  // one above the maximum
      static_cast<From>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  const bool low = value < kMin, high = value >= kLimit;
  const From inside = low || high || is_nan(value) ? From{0} : value;
  const auto converted = static_cast<To>(inside);
  return high ? std::numeric_limits<To>::max() : low ? std::numeric_limits<To>::min() : converted;
}

inline constexpr auto cvt_i32_f32 = [](float a) { return to_integer<int32_t>(a); };
inline constexpr auto cvt_u32_f32 = [](float a) { return to_integer<uint32_t>(a); };
inline constexpr auto cvt_i32_f64 = [](double a) { return to_integer<int32_t>(a); };
inline constexpr auto cvt_u32_f64 = [](double a) { return to_integer<uint32_t>(a); };
inline constexpr auto cvt_i16_f16 = [](float a) { return to_integer<int16_t>(a); };
inline constexpr auto cvt_u16_f16 = [](float a) { return to_integer<uint16_t>(a); };
inline constexpr auto cvt_nearest_i32_f32 = [](float a) {
  return to_integer<int32_t>(std::floor(a + 0.5f));
};
inline constexpr auto cvt_floor_i32_f32 = [](float a) {
  return to_integer<int32_t>(std::floor(a));
};

inline constexpr auto cvt_f32_i32 = [](int32_t a) { return static_cast<float>(a); };
inline constexpr auto cvt_f32_u32 = [](uint32_t a) { return static_cast<float>(a); };
inline constexpr auto cvt_f64_i32 = [](int32_t a) { return static_cast<double>(a); };
inline constexpr auto cvt_f64_u32 = [](uint32_t a) { return static_cast<double>(a); };
inline constexpr auto cvt_f16_i16 = [](int16_t a) { return static_cast<float>(a); };
inline constexpr auto cvt_f16_u16 = [](uint16_t a) { return static_cast<float>(a); };
inline constexpr auto cvt_f32_ubyte0 = [](uint32_t a) { return static_cast<float>(a & 0xff); };
inline constexpr auto cvt_f32_ubyte1 = [](uint32_t a) { return static_cast<float>(a >> 8 & 0xff); };
inline constexpr auto cvt_f32_ubyte2 = [](uint32_t a) {
  return static_cast<float>(a >> 16 & 0xff);
};
inline constexpr auto cvt_f32_ubyte3 = [](uint32_t a) { return static_cast<float>(a >> 24); };
/// Sixteenths of a signed nibble.
inline constexpr auto cvt_off_f32_i4 = [](int32_t a) {
  return static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(a) << 28) >> 28) / 16.0f;
};

// The rounding to f16 is that of the destination.
inline constexpr auto cvt_f16_f32 = [](float a) { return a; };
inline constexpr auto cvt_f32_f16 = [](float a) { return a; };
inline constexpr auto cvt_f32_f64 = [](double a) { return static_cast<float>(a); };
inline constexpr auto cvt_f64_f32 = [](float a) { return static_cast<double>(a); };
inline constexpr auto cvt_pk_rtz_f16_f32 = [](float a, float b) {
  constexpr uint32_t kTowardZero = 3;
  return pack16(float_to_half(a, kTowardZero), float_to_half(b, kTowardZero));
};
inline constexpr auto pack_b32_f16 = [](uint16_t a, uint16_t b) { return pack16(a, b); };

// Normalised integers: [-1, 1] or [0, 1] to the full range.
template <class To>
constexpr To to_normalised(float value) {
  constexpr float kMax = std::numeric_limits<To>::max();
  constexpr float kLow = std::numeric_limits<To>::is_signed ? -1.0f : 0.0f;
  if (is_nan(value)) return 0;
  const float clamped = value < kLow ? kLow : value > 1.0f ? 1.0f : value;
  return static_cast<To>(frndne(clamped * kMax));
}
inline constexpr auto cvt_norm_i16_f16 = [](float a) { return to_normalised<int16_t>(a); };
inline constexpr auto cvt_norm_u16_f16 = [](float a) { return to_normalised<uint16_t>(a); };
inline constexpr auto cvt_pk_norm_i16_f32 = [](float a, float b) {
  return pack16(static_cast<uint16_t>(to_normalised<int16_t>(a)),
                static_cast<uint16_t>(to_normalised<int16_t>(b)));
};
inline constexpr auto cvt_pk_norm_u16_f32 = [](float a, float b) {
  return pack16(to_normalised<uint16_t>(a), to_normalised<uint16_t>(b));
};
inline constexpr auto cvt_pk_norm_i16_f16 = cvt_pk_norm_i16_f32;
inline constexpr auto cvt_pk_norm_u16_f16 = cvt_pk_norm_u16_f32;
inline constexpr auto cvt_pk_i16_f32 = [](float a, float b) {
  return pack16(static_cast<uint16_t>(to_integer<int16_t>(a)),
                static_cast<uint16_t>(to_integer<int16_t>(b)));
};
inline constexpr auto cvt_pk_u16_f32 = [](float a, float b) {
  return pack16(to_integer<uint16_t>(a), to_integer<uint16_t>(b));
};
/// Byte `index` of `old` becomes the converted value.
inline constexpr auto cvt_pk_u8_f32 = [](float a, uint32_t index, uint32_t old) {
  const uint32_t shift = 8 * (index & 3);
  return (old & ~(0xffu << shift)) | static_cast<uint32_t>(to_integer<uint8_t>(a)) << shift;
};

inline constexpr auto frexp_exp_i32_f32 = frexp_exp;
inline constexpr auto frexp_exp_i32_f64 = frexp_exp;
/// As frexp_exp of the f16's own exponent field: 0 gives -14.
inline constexpr auto frexp_exp_i16_f16 = [](float a) { return a == 0.0f ? -14 : frexp_exp(a); };
inline constexpr auto frexp_mant_f32 = frexp_mant;
inline constexpr auto frexp_mant_f64 = frexp_mant;
inline constexpr auto frexp_mant_f16 = frexp_mant;

DOPPEL_END_LEVEL
