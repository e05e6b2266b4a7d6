// Integer operations of vector instructions, as pure functions of values.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "emulator/isa/row.h"
#include "emulator/isa/semantics/level.h"
#include "emulator/wave/wave.h"

DOPPEL_BEGIN_LEVEL

inline constexpr auto mov = [](auto a) { return a; };
inline constexpr auto not_ = [](auto a) { return ~a; };
inline constexpr auto and_ = [](auto a, auto b) { return a & b; };
inline constexpr auto or_ = [](auto a, auto b) { return a | b; };
inline constexpr auto xor_ = [](auto a, auto b) { return a ^ b; };
inline constexpr auto xnor = [](auto a, auto b) { return ~(a ^ b); };

/// Arithmetic that wraps: at 32 bits for all narrower types, at 64 for the rest. Called with wider
/// types it is exact, which is how saturation is computed (saturate in lanes.h).
template <class T>
constexpr auto wrapping(T value) {
  if constexpr (sizeof(T) == 8) {
    return value;
  } else {
    return static_cast<uint32_t>(value);
  }
}
inline constexpr auto add_nc = [](auto a, auto b) { return wrapping(a) + wrapping(b); };
inline constexpr auto sub_nc = [](auto a, auto b) { return wrapping(a) - wrapping(b); };
inline constexpr auto subrev_nc = [](auto a, auto b) { return wrapping(b) - wrapping(a); };
inline constexpr auto mul_lo = [](auto a, auto b) { return wrapping(a) * wrapping(b); };
inline constexpr auto mad_int = [](auto a, auto b, auto c) {
  return wrapping(a) * wrapping(b) + wrapping(c);
};

/// Shift counts wrap at the width of the shifted value.
template <class T>
constexpr uint32_t shift_count(uint64_t count) {
  return static_cast<uint32_t>(count) & (sizeof(T) * 8 - 1);
}
inline constexpr auto lshlrev = [](auto count, auto value) {
  return static_cast<decltype(value)>(value << shift_count<decltype(value)>(count));
};
inline constexpr auto lshrrev = [](auto count, auto value) {
  return static_cast<decltype(value)>(value >> shift_count<decltype(value)>(count));
};
inline constexpr auto ashrrev = lshrrev;  // on signed values

inline constexpr auto lshl_add = [](uint32_t a, uint32_t b, uint32_t c) {
  return (a << (b & 31)) + c;
};
inline constexpr auto add_lshl = [](uint32_t a, uint32_t b, uint32_t c) {
  return (a + b) << (c & 31);
};
inline constexpr auto lshl_or = [](uint32_t a, uint32_t b, uint32_t c) {
  return (a << (b & 31)) | c;
};
inline constexpr auto and_or = [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; };
inline constexpr auto or3 = [](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; };
inline constexpr auto xor3 = [](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; };
inline constexpr auto add3 = [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; };
inline constexpr auto xad = [](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; };

inline constexpr auto min = [](auto a, auto b) { return a < b ? a : b; };
inline constexpr auto max = [](auto a, auto b) { return a > b ? a : b; };
inline constexpr auto min3 = [](auto a, auto b, auto c) { return min(min(a, b), c); };
inline constexpr auto max3 = [](auto a, auto b, auto c) { return max(max(a, b), c); };
inline constexpr auto med3 = [](auto a, auto b, auto c) {
  return max(min(a, b), min(max(a, b), c));
};
inline constexpr auto maxmin = [](auto a, auto b, auto c) { return min(max(a, b), c); };
inline constexpr auto minmax = [](auto a, auto b, auto c) { return max(min(a, b), c); };

// 24-bit multiplication.
constexpr int32_t sign_extend_24(int32_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value) << 8) >> 8;
}
inline constexpr auto mul_i32_i24 = [](int32_t a, int32_t b) {
  return static_cast<uint32_t>(sign_extend_24(a)) * static_cast<uint32_t>(sign_extend_24(b));
};
inline constexpr auto mul_hi_i32_i24 = [](int32_t a, int32_t b) {
  return static_cast<int32_t>(int64_t{sign_extend_24(a)} * sign_extend_24(b) >> 32);
};
inline constexpr auto mul_u32_u24 = [](uint32_t a, uint32_t b) {
  return (a & 0xffffff) * (b & 0xffffff);
};
inline constexpr auto mul_hi_u32_u24 = [](uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{a & 0xffffff} * (b & 0xffffff) >> 32);
};
inline constexpr auto mad_i32_i24 = [](auto a, auto b, auto c) {
  return wrapping(decltype(c){sign_extend_24(static_cast<int32_t>(a))}) *
             wrapping(decltype(c){sign_extend_24(static_cast<int32_t>(b))}) +
         wrapping(c);
};
inline constexpr auto mad_u32_u24 = [](auto a, auto b, auto c) {
  return wrapping(a & 0xffffff) * wrapping(b & 0xffffff) + wrapping(c);
};
inline constexpr auto mul_hi = [](auto a, auto b) {
  if constexpr (std::numeric_limits<decltype(a)>::is_signed) {
    return static_cast<int32_t>(int64_t{a} * b >> 32);
  } else {
    return static_cast<uint32_t>(uint64_t{a} * b >> 32);
  }
};

// Bits.
inline constexpr auto bfe_u32 = [](uint32_t value, uint32_t offset, uint32_t width) {
  return value >> (offset & 31) & ((1u << (width & 31)) - 1);
};
inline constexpr auto bfe_i32 = [](int32_t value, uint32_t offset, uint32_t width) {
  const uint32_t bits = width & 31;
  const auto field = static_cast<uint32_t>(value >> (offset & 31));
  const uint32_t unused = (32 - bits) & 31;
  return bits == 0 ? 0 : static_cast<int32_t>(field << unused) >> unused;
};
inline constexpr auto bfi = [](uint32_t mask, uint32_t a, uint32_t b) {
  return (mask & a) | (~mask & b);
};
inline constexpr auto bfm = [](uint32_t width, uint32_t offset) {
  return ((1u << (width & 31)) - 1) << (offset & 31);
};
inline constexpr auto bfrev = [](uint32_t a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(a);
};
inline constexpr auto bcnt = [](uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::popcount(a)) + b;
};
inline constexpr auto clz = [](uint32_t a) { return a == 0 ? -1 : std::countl_zero(a); };
inline constexpr auto ctz = [](uint32_t a) { return a == 0 ? -1 : std::countr_zero(a); };
inline constexpr auto cls = [](int32_t a) {
  const auto differing = static_cast<uint32_t>(a < 0 ? ~a : a);
  return differing == 0 ? -1 : std::countl_zero(differing);
};
inline constexpr auto alignbit = [](uint32_t high, uint32_t low, uint32_t shift) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (shift & 31));
};
inline constexpr auto alignbyte = [](uint32_t high, uint32_t low, uint32_t shift) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (8 * (shift & 3)));
};

/// One byte of V_PERM: 0-3 of `low`, 4-7 of `high`, 8-11 a replicated sign, 12 zero, else 0xff.
constexpr uint32_t permuted_byte(uint64_t data, uint32_t selector) {
  if (selector < 8) return static_cast<uint32_t>(data >> (8 * selector)) & 0xff;
  if (selector < 12) return (data >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
  return selector == 12 ? 0 : 0xff;
}
inline constexpr auto perm = [](uint32_t high, uint32_t low, uint32_t selectors) {
  const uint64_t data = uint64_t{high} << 32 | low;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    result |= permuted_byte(data, selectors >> (8 * i) & 0xff) << (8 * i);
  }
  return result;
};

// Bytes: sums of absolute differences and their masked and quad forms.
constexpr uint32_t byte_of(uint64_t value, uint32_t index) {
  return static_cast<uint32_t>(value >> (8 * index)) & 0xff;
}
constexpr uint32_t distance(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}
inline constexpr auto sad_u8 = [](uint32_t a, uint32_t b, auto sum) {
  for (uint32_t i = 0; i < 4; ++i) sum += distance(byte_of(a, i), byte_of(b, i));
  return sum;
};
inline constexpr auto sad_hi_u8 = [](uint32_t a, uint32_t b, auto sum) {
  return static_cast<decltype(sum)>((sad_u8(a, b, uint32_t{0}) << 16) + sum);
};
inline constexpr auto sad_u16 = [](uint32_t a, uint32_t b, auto sum) {
  return sum + distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
};
inline constexpr auto sad_u32 = [](uint32_t a, uint32_t b, auto sum) {
  return sum + distance(a, b);
};
/// Bytes that are 0 in the reference `b` do not count.
inline constexpr auto msad_u8 = [](uint32_t a, uint32_t b, auto sum) {
  for (uint32_t i = 0; i < 4; ++i) {
    if (byte_of(b, i) != 0) sum += distance(byte_of(a, i), byte_of(b, i));
  }
  return sum;
};
template <auto kSad>
constexpr auto quad_sad_u16 = [](uint64_t a, uint32_t b, uint64_t sums) {
  uint64_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const auto window = static_cast<uint32_t>(a >> (8 * i));
    const uint32_t sum = kSad(window, b, static_cast<uint32_t>(sums >> (16 * i)) & 0xffff);
    result |= uint64_t{sum & 0xffff} << (16 * i);
  }
  return result;
};
inline constexpr auto qsad_pk_u16_u8 = quad_sad_u16<sad_u8>;
inline constexpr auto mqsad_pk_u16_u8 = quad_sad_u16<msad_u8>;
inline constexpr auto lerp_u8 = [](uint32_t a, uint32_t b, uint32_t round) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t sum = byte_of(a, i) + byte_of(b, i) + (byte_of(round, i) & 1);
    result |= (sum >> 1) << (8 * i);
  }
  return result;
};

// Saturating packs.
template <class T>
constexpr T saturated(int64_t value) {
  constexpr int64_t kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  return static_cast<T>(value < kMin ? kMin : value > kMax ? kMax : value);
}
constexpr uint32_t pack16(uint32_t low, uint32_t high) {
  return (low & 0xffff) | high << 16;
}
inline constexpr auto cvt_pk_u16_u32 = [](uint32_t a, uint32_t b) {
  return pack16(saturated<uint16_t>(a), saturated<uint16_t>(b));
};
inline constexpr auto cvt_pk_i16_i32 = [](int32_t a, int32_t b) {
  return pack16(static_cast<uint16_t>(saturated<int16_t>(a)),
                static_cast<uint16_t>(saturated<int16_t>(b)));
};
inline constexpr auto sat_pk_u8_i16 = [](uint32_t pair) {
  const auto low = static_cast<int16_t>(pair), high = static_cast<int16_t>(pair >> 16);
  return static_cast<uint32_t>(saturated<uint8_t>(low)) | uint32_t{saturated<uint8_t>(high)} << 8;
};
inline constexpr auto cvt_i32_i16 = [](int16_t a) { return int32_t{a}; };
inline constexpr auto cvt_u32_u16 = [](uint16_t a) { return uint32_t{a}; };

DOPPEL_END_LEVEL
