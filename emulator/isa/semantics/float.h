// Float arithmetic as pure functions of values; f16 operands arrive as float. Rounding and denormal
// modes are MXCSR's (emu::Mode).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/isa/row.h"
#include "emulator/isa/semantics/level.h"
#include "emulator/wave/wave.h"

DOPPEL_BEGIN_LEVEL

inline constexpr auto add = [](auto a, auto b) { return a + b; };
inline constexpr auto sub = [](auto a, auto b) { return a - b; };
inline constexpr auto subrev = [](auto a, auto b) { return b - a; };
inline constexpr auto mul = [](auto a, auto b) { return a * b; };
inline constexpr auto fma = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
inline constexpr auto fmac = fma;
inline constexpr auto fmamk = fma;
inline constexpr auto fmaak = fma;

DOPPEL_END_LEVEL
