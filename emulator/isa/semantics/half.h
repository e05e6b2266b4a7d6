// f16 and bf16 conversions, scalar and 32 lanes at a time.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "emulator/isa/row.h"
#include "emulator/isa/semantics/level.h"
#include "emulator/wave/wave.h"

DOPPEL_BEGIN_LEVEL

/// f16 bits -> float, exactly (signalling NaNs stay what they are, widened).
inline float half_to_float(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0) {
    if (fraction == 0) return std::bit_cast<float>(sign);
    const int shift = std::countl_zero(fraction) - 21;  // to bit 10
    return std::bit_cast<float>(sign | static_cast<uint32_t>(113 - shift) << 23 |
                                (fraction << shift & 0x3ff) << 13);
  }
  const uint32_t biased = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | biased << 23 | fraction << 13);
}

/// float -> f16 bits; `round` as MODE codes it (0 nearest even, 1 +inf, 2 -inf, 3 zero). NaNs keep
/// the top of their payload and are quieted.
inline uint32_t float_to_half(float value, uint32_t round = 0) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude == 0x7f800000) return sign | 0x7c00;
  const bool up = (round == 1 && sign == 0) || (round == 2 && sign != 0);
  if (magnitude >= 0x47800000) {  // 65536 and above
    return sign | (round == 0 || up ? 0x7c00 : 0x7bff);
  }
  uint32_t kept, rest, half;
  if (magnitude >= 0x38800000) {  // normal
    kept = (magnitude >> 13) - (112u << 10);
    rest = magnitude & 0x1fff;
    half = 0x1000;
  } else {  // denormal or 0
    const uint32_t exponent = magnitude >> 23;
    const uint32_t shift = 126 - exponent;  // 14 and more
    const uint32_t fraction = (magnitude & 0x7fffff) | (exponent != 0 ? 0x800000u : 0u);
    if (shift > 31) {
      kept = 0;
      rest = magnitude != 0;
      half = 2;
    } else {
      kept = fraction >> shift;
      rest = fraction & ((1u << shift) - 1);
      half = 1u << (shift - 1);
    }
  }
  const bool increment =
      round == 0 ? rest > half || (rest == half && (kept & 1) != 0) : up && rest != 0;
  return sign | (kept + (increment ? 1 : 0));
}

inline void halves_to_floats(const uint32_t* halves, float* floats) {
#ifdef __F16C__
  for (int l = 0; l < 32; l += 4) {
    const __m128i wide = _mm_load_si128(reinterpret_cast<const __m128i*>(halves + l));
    const __m128i low = _mm_and_si128(wide, _mm_set1_epi32(0xffff));
    _mm_store_ps(floats + l, _mm_cvtph_ps(_mm_packus_epi32(low, low)));
  }
#else
  for (int l = 0; l < 32; ++l) floats[l] = half_to_float(halves[l] & 0xffff);
#endif
}

/// Undoes the quieting of NaNs in halves_to_floats, for instructions that tell the two kinds apart.
inline void keep_signalling(const uint32_t* halves, float* floats) {
  for (int l = 0; l < 32; ++l) {
    const uint32_t magnitude = halves[l] & 0x7fff;
    const bool signalling = magnitude > 0x7c00 && (magnitude & 0x0200) == 0;
    const uint32_t quiet = signalling ? 0x00400000u : 0u;
    floats[l] = std::bit_cast<float>(std::bit_cast<uint32_t>(floats[l]) & ~quiet);
  }
}

/// Values below the smallest normal f16 become zero of the same sign.
inline void flush_half_denormals(float* floats) {
  for (int l = 0; l < 32; ++l) {
    const uint32_t bits = std::bit_cast<uint32_t>(floats[l]);
    if ((bits & 0x7fffffff) < 0x38800000) floats[l] = std::bit_cast<float>(bits & 0x80000000);
  }
}

/// Whether a value that was rounded to `half` underflows: rounded with an unbounded exponent it is
/// below the smallest normal f16.
inline bool underflows(float value, uint32_t half, uint32_t round) {
  if ((half & 0x7fff) != 0x0400) return (half & 0x7c00) == 0;
  return (float_to_half(value * 4, round) & 0x7fff) < 0x0c00;
}

/// Rounds as MODE says for f16 and writes the bits, zero-extended.
inline void floats_to_halves(const float* floats, uint32_t* halves, const emu::Mode& mode) {
#ifdef __F16C__
  const uint32_t saved = _mm_getcsr();
  if (saved != mode.mxcsr64()) _mm_setcsr(mode.mxcsr64());
  for (int l = 0; l < 32; l += 4) {
    const __m128i packed = _mm_cvtps_ph(_mm_load_ps(floats + l), _MM_FROUND_CUR_DIRECTION);
    _mm_store_si128(reinterpret_cast<__m128i*>(halves + l), _mm_cvtepu16_epi32(packed));
  }
  if (saved != mode.mxcsr64()) _mm_setcsr(saved);
#else
  for (int l = 0; l < 32; ++l) halves[l] = float_to_half(floats[l], mode.round64());
#endif
  if (mode.flush_out64()) {
    for (int l = 0; l < 32; ++l) {
      if (underflows(floats[l], halves[l], mode.round64())) halves[l] &= 0x8000;
    }
  }
  if (mode.fp16_overflow()) {
    for (int l = 0; l < 32; ++l) {
      const bool overflowed = (halves[l] & 0x7fff) == 0x7c00 &&
                              (std::bit_cast<uint32_t>(floats[l]) & 0x7fffffff) != 0x7f800000;
      if (overflowed) halves[l] = (halves[l] & 0x8000) | 0x7bff;
    }
  }
}

inline float bfloat_to_float(uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

/// Round to nearest even.
inline uint32_t float_to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16 | 0x40) & 0xffff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

DOPPEL_END_LEVEL
