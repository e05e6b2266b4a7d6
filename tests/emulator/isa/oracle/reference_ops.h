// What float instructions give, computed with exact arithmetic (exact_float.h) from AMD's RDNA3 ISA
// manual: denormal flushing, rounding, NaN rules. Values are bit patterns.
#pragma once

#include <cstdint>

#include "tests/emulator/isa/oracle/exact_float.h"

namespace doppel::oracle {

/// The part of MODE that the reference follows, one setting for all formats.
struct FloatMode {
  Rounding rounding = Rounding::NearestEven;
  bool keep_denormals = true;
  bool ieee = true;

  /// COMPUTE_PGM_RSRC1's bits for it: FLOAT_MODE, DX10_CLAMP, IEEE_MODE.
  uint32_t rsrc1_bits() const {
    const auto round = static_cast<uint32_t>(rounding);
    return round << 12 | round << 14 | (keep_denormals ? 0xfu << 16 : 0) | 1u << 21 |
           (ieee ? 1u << 23 : 0);
  }
};

// F says which format the operands have; the results have it too unless a name says otherwise.
uint64_t ref_add(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b);
uint64_t ref_sub(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b);
uint64_t ref_mul(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b);
uint64_t ref_fma(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b, uint64_t c);
uint64_t ref_min(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b);
uint64_t ref_max(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b);
/// Rounding to an integral value, whatever MODE says. To nearest, a result of 0 is +0, as the
/// manual's pseudo-code of V_RNDNE gives.
uint64_t ref_round(const FloatFormat& f, const FloatMode& mode, Rounding rounding, uint64_t a);
uint64_t ref_fract(const FloatFormat& f, const FloatMode& mode, uint64_t a);
/// From one float format to another.
uint64_t ref_convert(const FloatFormat& from, const FloatFormat& to, const FloatMode& mode,
                     uint64_t a);
/// To an integer of `bits` bits: rounded, saturated; NaN gives 0.
uint64_t ref_to_integer(const FloatFormat& f, const FloatMode& mode, Rounding rounding,
                        uint32_t bits, bool is_signed, uint64_t a);
uint64_t ref_from_integer(const FloatFormat& f, const FloatMode& mode, int64_t value);
/// a * 2^exponent.
uint64_t ref_ldexp(const FloatFormat& f, const FloatMode& mode, uint64_t a, int32_t exponent);
/// The exponent that makes the mantissa lie in [0.5, 1), and that mantissa. Zero has the exponent
/// of its exponent field, 1 - bias.
int32_t ref_frexp_exponent(const FloatFormat& f, const FloatMode& mode, uint64_t a);
uint64_t ref_frexp_mantissa(const FloatFormat& f, const FloatMode& mode, uint64_t a);

/// Ordered comparisons: -1, 0, 1, or 2 if unordered.
int ref_compare(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b);

}  // namespace doppel::oracle
