#include "tests/emulator/isa/oracle/reference_ops.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace doppel::oracle {
namespace {

uint64_t flush(const FloatFormat& f, const FloatMode& mode, uint64_t value) {
  return !mode.keep_denormals && f.is_denormal(value) ? value & f.sign_bit() : value;
}

uint64_t quieted(const FloatFormat& f, uint64_t nan) {
  return nan | f.quiet_bit();
}

/// The first NaN among the operands, quieted.
std::optional<uint64_t> nan_operand(const FloatFormat& f,
                                    std::initializer_list<uint64_t> operands) {
  for (uint64_t operand : operands) {
    if (f.is_nan(operand)) return quieted(f, operand);
  }
  return std::nullopt;
}

/// Hardware's NaN for an invalid operation is the negative quiet one.
uint64_t invalid_result(const FloatFormat& f) {
  return f.sign_bit() | f.default_nan();
}

/// Whether a value, rounded to the format's precision with an unbounded exponent, is below the
/// smallest normal number.
bool is_tiny(const FloatFormat& f, const FloatMode& mode, const Exact& value) {
  const int up = f.mantissa_bits + 2;
  const uint64_t smallest_normal = uint64_t{1} << f.mantissa_bits;
  if (value.compare_magnitude(Exact::from_float(f, smallest_normal)) >= 0) return false;
  const uint64_t limit = smallest_normal + (static_cast<uint64_t>(up) << f.mantissa_bits);
  return f.magnitude(value.scaled(up).to_float(f, mode.rounding, false)) < limit;
}

uint64_t rounded(const FloatFormat& f, const FloatMode& mode, const Exact& value,
                 bool zero_negative) {
  const uint64_t result = value.to_float(f, mode.rounding, zero_negative);
  const bool flushes = !mode.keep_denormals && is_tiny(f, mode, value);
  return flushes ? result & f.sign_bit() : result;
}

/// The sign of a zero sum of terms with these signs.
bool zero_sum_negative(const FloatMode& mode, bool a_negative, bool b_negative) {
  return a_negative == b_negative ? a_negative : mode.rounding == Rounding::TowardNegative;
}

/// The order of two numbers, -0 before +0.
bool less(const FloatFormat& f, uint64_t a, uint64_t b) {
  if (f.negative(a) != f.negative(b)) return f.negative(a);
  return f.negative(a) ? f.magnitude(a) > f.magnitude(b) : f.magnitude(a) < f.magnitude(b);
}

uint64_t minimum(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b, bool max) {
  if (mode.ieee && f.is_signaling(a)) return quieted(f, a);
  if (mode.ieee && f.is_signaling(b)) return quieted(f, b);
  // doppel passes f16 operands through f32, which quiets them.
  if (f.is_nan(a) && f.is_nan(b)) return f.bits() == 16 ? quieted(f, b) : b;
  if (f.is_nan(a)) return flush(f, mode, b);
  if (f.is_nan(b)) return flush(f, mode, a);
  a = flush(f, mode, a);
  b = flush(f, mode, b);
  return less(f, a, b) != max ? a : b;
}

}  // namespace

uint64_t ref_add(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b) {
  if (auto nan = nan_operand(f, {a, b})) return *nan;
  a = flush(f, mode, a);
  b = flush(f, mode, b);
  if (f.is_infinite(a)) {
    return f.is_infinite(b) && f.negative(a) != f.negative(b) ? invalid_result(f) : a;
  }
  if (f.is_infinite(b)) return b;
  return rounded(f, mode, Exact::from_float(f, a) + Exact::from_float(f, b),
                 zero_sum_negative(mode, f.negative(a), f.negative(b)));
}

uint64_t ref_sub(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b) {
  if (auto nan = nan_operand(f, {a, b})) return *nan;
  return ref_add(f, mode, a, b ^ f.sign_bit());
}

uint64_t ref_mul(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b) {
  if (auto nan = nan_operand(f, {a, b})) return *nan;
  a = flush(f, mode, a);
  b = flush(f, mode, b);
  const bool negative = f.negative(a) != f.negative(b);
  if (f.is_infinite(a) || f.is_infinite(b)) {
    if (f.is_zero(a) || f.is_zero(b)) return invalid_result(f);
    return f.infinity() | (negative ? f.sign_bit() : 0);
  }
  return rounded(f, mode, Exact::product(f, a, b), negative);
}

uint64_t ref_fma(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b, uint64_t c) {
  if (auto nan = nan_operand(f, {a, b, c})) return *nan;
  a = flush(f, mode, a);
  b = flush(f, mode, b);
  c = flush(f, mode, c);
  const bool negative = f.negative(a) != f.negative(b);
  if (f.is_infinite(a) || f.is_infinite(b)) {
    if (f.is_zero(a) || f.is_zero(b)) return invalid_result(f);
    if (f.is_infinite(c) && f.negative(c) != negative) return invalid_result(f);
    return f.infinity() | (negative ? f.sign_bit() : 0);
  }
  if (f.is_infinite(c)) return c;
  return rounded(f, mode, Exact::product(f, a, b) + Exact::from_float(f, c),
                 zero_sum_negative(mode, negative, f.negative(c)));
}

uint64_t ref_min(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b) {
  return minimum(f, mode, a, b, false);
}

uint64_t ref_max(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b) {
  return minimum(f, mode, a, b, true);
}

uint64_t ref_round(const FloatFormat& f, const FloatMode& mode, Rounding rounding, uint64_t a) {
  if (f.is_nan(a)) return quieted(f, a);
  a = flush(f, mode, a);
  const bool to_nearest = rounding == Rounding::NearestEven;
  if (f.is_zero(a)) return to_nearest ? 0 : a;
  if (f.is_infinite(a)) return a;
  const auto integer = Exact::from_float(f, a).to_integer(rounding);
  if (!integer) return a;  // so large that it is integral
  const bool negative = f.negative(a) && !(to_nearest && *integer == 0);
  const __int128 magnitude = *integer < 0 ? -*integer : *integer;
  return Exact(negative, static_cast<unsigned __int128>(magnitude), 0)
      .to_float(f, Rounding::NearestEven, negative);
}

uint64_t ref_fract(const FloatFormat& f, const FloatMode& mode, uint64_t a) {
  if (f.is_nan(a)) return quieted(f, a);
  a = flush(f, mode, a);
  if (f.is_infinite(a)) return invalid_result(f);
  const uint64_t floor = ref_round(f, mode, Rounding::TowardNegative, a);
  const uint64_t difference = ref_sub(f, mode, a, floor);
  const uint64_t below_one =
      (static_cast<uint64_t>(f.bias()) << f.mantissa_bits) - 1;  // the largest number below 1
  return f.magnitude(difference) > below_one ? below_one : difference;
}

uint64_t ref_convert(const FloatFormat& from, const FloatFormat& to, const FloatMode& mode,
                     uint64_t a) {
  const uint64_t sign = from.negative(a) ? to.sign_bit() : 0;
  if (from.is_nan(a)) {
    const uint64_t payload = a & ((uint64_t{1} << from.mantissa_bits) - 1);
    const int shift = to.mantissa_bits - from.mantissa_bits;
    return sign | to.infinity() | to.quiet_bit() |
           (shift >= 0 ? payload << shift : payload >> -shift);
  }
  if (from.is_infinite(a)) return sign | to.infinity();
  a = flush(from, mode, a);
  return rounded(to, mode, Exact::from_float(from, a), from.negative(a));
}

uint64_t ref_to_integer(const FloatFormat& f, const FloatMode& mode, Rounding rounding,
                        uint32_t bits, bool is_signed, uint64_t a) {
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const __int128 highest = (static_cast<__int128>(1) << (is_signed ? bits - 1 : bits)) - 1;
  const __int128 lowest = is_signed ? -highest - 1 : 0;
  if (f.is_nan(a)) return 0;
  a = flush(f, mode, a);
  const __int128 limit = f.negative(a) ? lowest : highest;
  if (f.is_infinite(a)) return static_cast<uint64_t>(limit) & mask;
  const auto integer = Exact::from_float(f, a).to_integer(rounding);
  const __int128 value = integer ? std::clamp(*integer, lowest, highest) : limit;
  return static_cast<uint64_t>(value) & mask;
}

uint64_t ref_from_integer(const FloatFormat& f, const FloatMode& mode, int64_t value) {
  return Exact::from_integer(value).to_float(f, mode.rounding, false);
}

uint64_t ref_ldexp(const FloatFormat& f, const FloatMode& mode, uint64_t a, int32_t exponent) {
  if (f.is_nan(a)) return quieted(f, a);
  a = flush(f, mode, a);
  if (f.is_infinite(a) || f.is_zero(a)) return a;
  // Beyond these the result is an overflow, or below half the smallest denormal, anyway.
  const int own = ref_frexp_exponent(f, mode, a);
  const int lowest = -f.bias() - f.mantissa_bits - 4 - own;
  const int highest = f.bias() + 4 - own;
  const Exact scaled = Exact::from_float(f, a).scaled(std::clamp(exponent, lowest, highest));
  return rounded(f, mode, scaled, f.negative(a));
}

int32_t ref_frexp_exponent(const FloatFormat& f, const FloatMode& mode, uint64_t a) {
  a = flush(f, mode, a);
  if (f.is_nan(a) || f.is_infinite(a)) return 0;
  if (f.is_zero(a)) return 1 - f.bias();
  int32_t exponent = 0;
  uint64_t value = f.magnitude(a);
  const int bits = f.mantissa_bits;
  if (f.is_denormal(a)) {
    while ((value >> bits) == 0) {
      value <<= 1;
      --exponent;
    }
    ++exponent;
    value &= (uint64_t{1} << bits) - 1;
  }
  return exponent + static_cast<int32_t>(value >> bits) - f.bias() + 1;
}

uint64_t ref_frexp_mantissa(const FloatFormat& f, const FloatMode& mode, uint64_t a) {
  if (f.is_nan(a)) return quieted(f, a);
  a = flush(f, mode, a);
  if (f.is_infinite(a) || f.is_zero(a)) return a;
  return Exact::from_float(f, a)
      .scaled(-ref_frexp_exponent(f, mode, a))
      .to_float(f, Rounding::NearestEven, false);
}

int ref_compare(const FloatFormat& f, const FloatMode& mode, uint64_t a, uint64_t b) {
  if (f.is_nan(a) || f.is_nan(b)) return 2;
  a = flush(f, mode, a);
  b = flush(f, mode, b);
  if (f.is_zero(a) && f.is_zero(b)) return 0;
  if (a == b) return 0;
  return less(f, a, b) ? -1 : 1;
}

}  // namespace doppel::oracle
