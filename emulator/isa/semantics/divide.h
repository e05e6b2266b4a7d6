// The steps of exact division: V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP; and V_TRIG_PREOP. RDNA3 ISA
// manual.
#pragma once

#include <limits>

#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

/// Constants of the division steps per width.
template <class T>
struct Division;
template <>
struct Division<float> {
  static constexpr int kScale = 64, kLargeQuotient = 96, kTinyNumerator = 23, kUnderflow = -150;
};
template <>
struct Division<double> {
  static constexpr int kScale = 128, kLargeQuotient = 768, kTinyNumerator = 53, kUnderflow = -1075;
};

template <class T>
struct Scaled {
  T value;
  bool vcc;
};

template <class T>
bool is_denormal(T value) {
  return exponent_field(value) == 0 && (to_bits(value) & FloatFormat<T>::kFraction) != 0;
}

/// `value` is the numerator or the denominator, as it is to be scaled. Whether reciprocal and
/// quotient may be denormal shows in the exponents alone.
template <class T>
Scaled<T> div_scale(T value, T denominator, T numerator) {
  using D = Division<T>;
  constexpr int kBias = FloatFormat<T>::kBias;
  const auto scaled = [&](int sign) { return std::ldexp(value, sign * D::kScale); };
  const bool is_denominator = to_bits(value) == to_bits(denominator);
  const bool is_numerator = to_bits(value) == to_bits(numerator);
  if (numerator == 0 || denominator == 0) return {from_bits<T>(FloatFormat<T>::kNan), true};
  const int difference = exponent_field(numerator) - exponent_field(denominator);
  if (difference >= D::kLargeQuotient) return {is_denominator ? scaled(1) : value, true};
  if (is_denormal(denominator)) return {scaled(1), false};
  const bool reciprocal_denormal = exponent_field(denominator) >= 2 * kBias - 1;
  const bool quotient_denormal = difference <= 1 - kBias;
  if (reciprocal_denormal && quotient_denormal) return {is_denominator ? scaled(-1) : value, true};
  if (reciprocal_denormal) return {scaled(-1), false};
  if (quotient_denormal) return {is_numerator ? scaled(1) : value, true};
  if (exponent_field(numerator) <= D::kTinyNumerator) return {scaled(1), false};
  return {value, false};
}

template <class T>
struct div_scale_lanes {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (needs_mode64<D, A, B, C>()) {
      if (wave.mode.split() && !wave.in_mode64) {
        return with_mode64(wave, inst, &run<D, A, B, C>);
      }
    }
    const Source<A> value(wave, *inst, 0);
    const Source<B> denominator(wave, *inst, 1);
    const Source<C> numerator(wave, *inst, 2);
    Results<D> results(wave, *inst);
    const uint32_t exec = wave.exec_half();
    uint32_t mask = 0;
    for (int l = 0; l < kLanes; ++l) {
      const auto [scaled, vcc] = div_scale<T>(value[l], denominator[l], numerator[l]);
      results.set(l, scaled);
      mask |= static_cast<uint32_t>(vcc) << l;
    }
    results.commit(wave, *inst);
    wave.s[inst->sdst + wave.half] = mask & exec;
    return inst + 1;
  }
};
struct div_scale_f32 : div_scale_lanes<float> {};
struct div_scale_f64 : div_scale_lanes<double> {};

/// The sign of a * b + c - sum, where sum is the rounded fma (to nearest, without underflow).
template <class T>
T fma_error(T a, T b, T c, T sum) {
  const T product = a * b, product_error = std::fma(a, b, -product);
  const T plain = product + c, added = plain - product;
  const T plain_error = (product - (plain - added)) + (c - added);
  return ((plain - sum) + plain_error) + product_error;
}

/// (a * b + c) * 2^power with one rounding: to nearest, what rounds to the middle between two
/// denormal numbers leans to where the exact value lies.
template <class T>
T scaled_fma(T a, T b, T c, int power, bool to_nearest) {
  const T sum = std::fma(a, b, c), scaled = std::ldexp(sum, power);
  if (!to_nearest || std::abs(scaled) >= std::numeric_limits<T>::min() || scaled == 0)
    return scaled;
  const T lost = sum - std::ldexp(scaled, -power);
  const T half_step = std::ldexp(std::numeric_limits<T>::denorm_min(), -power - 1);
  if (std::abs(lost) != half_step) return scaled;
  const T error = fma_error(a, b, c, sum);
  if (error == 0 || (error > 0) != (lost > 0)) {
    return scaled;
  }
  return std::nextafter(
      scaled, lost > 0 ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity());
}

/// fma, times a power of two where the lane's VCC bit says that the operands were scaled.
template <class T>
struct div_fmas_lanes {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (needs_mode64<D, A, B, C>()) {
      if (wave.mode.split() && !wave.in_mode64) {
        return with_mode64(wave, inst, &run<D, A, B, C>);
      }
    }
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const Source<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    const uint32_t vcc = wave.s[kVccLo + wave.half];
    const bool to_nearest =
        (sizeof(T) == sizeof(float) ? wave.mode.round32() : wave.mode.round64()) == 0;
    for (int l = 0; l < kLanes; ++l) {
      T value = std::fma(a[l], b[l], c[l]);
      if (is_nan(value)) {
        value = nan_result(a[l], b[l], c[l]);
      } else if ((vcc >> l & 1u) != 0) {
        const bool large = exponent_field(c[l]) > FloatFormat<T>::kBias;
        value = scaled_fma<T>(a[l], b[l], c[l], large ? Division<T>::kScale : -Division<T>::kScale,
                              to_nearest);
      }
      results.set(l, value);
    }
    results.commit(wave, *inst);
    return inst + 1;
  }
};
struct div_fmas_f32 : div_fmas_lanes<float> {};
struct div_fmas_f64 : div_fmas_lanes<double> {};

/// The special cases of numerator / denominator; else the quotient with its sign.
inline constexpr auto fdiv_fixup = [](auto quotient, auto denominator, auto numerator) {
  using T = decltype(quotient);
  using F = FloatFormat<T>;
  const bool negative = sign_of(denominator) != sign_of(numerator);
  const T infinity = from_bits<T>(F::kExponent);
  const T invalid = from_bits<T>(F::kNan | F::kSign);
  const bool denominator_infinite = std::abs(denominator) == infinity;
  const bool numerator_infinite = std::abs(numerator) == infinity;
  if (is_nan(numerator)) return quieted(numerator);
  if (is_nan(denominator)) return quieted(denominator);
  if (denominator == 0 && numerator == 0) return invalid;
  if (denominator_infinite && numerator_infinite) return from_bits<T>(F::kNan);
  if (denominator == 0 || numerator_infinite) return with_sign(infinity, negative);
  if (denominator_infinite || numerator == 0) return with_sign(T{0}, negative);
  const int difference = exponent_field(numerator) - exponent_field(denominator);
  if (difference < Division<T>::kUnderflow) return with_sign(T{0}, negative);
  if (is_nan(quotient)) return with_sign(infinity, negative);
  return with_sign(quotient, negative);
};
/// f16 has no range limits to mend.
inline constexpr auto div_fixup_f16 = [](float quotient, float denominator, float numerator) {
  return fdiv_fixup(quotient, denominator, numerator);
};

/// 53 bits of 2/pi, chosen by the segment number and the argument's exponent, as a fraction.
double trig_preop(double value, uint32_t segment);
inline constexpr auto trig_preop_f64 = [](double value, uint32_t segment) {
  return trig_preop(value, segment);
};

DOPPEL_END_LEVEL
