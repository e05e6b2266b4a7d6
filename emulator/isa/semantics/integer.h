// Integer operations of vector instructions, as pure functions of values.
#pragma once

#include <bit>
#include <cstdint>

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
inline constexpr auto add_nc = [](auto a, auto b) {
  return static_cast<uint32_t>(a) + static_cast<uint32_t>(b);
};
inline constexpr auto sub_nc = [](auto a, auto b) {
  return static_cast<uint32_t>(a) - static_cast<uint32_t>(b);
};
inline constexpr auto subrev_nc = [](auto a, auto b) {
  return static_cast<uint32_t>(b) - static_cast<uint32_t>(a);
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
inline constexpr auto add3 = [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; };

DOPPEL_END_LEVEL
