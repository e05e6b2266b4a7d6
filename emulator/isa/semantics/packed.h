// VOP3P: two 16-bit operations in a register, dot products, and mixed-precision FMA. OP_SEL and NEG
// have been applied to the sources before (lower.cpp).
#pragma once

#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

constexpr uint32_t low_half(uint32_t pair) {
  return pair & 0xffff;
}
constexpr uint32_t high_half(uint32_t pair) {
  return pair >> 16;
}

/// The halves of a source as two arrays of floats.
struct HalfPairs {
  HalfPairs(const Wave& wave, const Inst& inst, uint32_t index) {
    const auto* pairs = reinterpret_cast<const uint32_t*>(wave.source(inst, index));
    alignas(64) uint32_t upper[kLanes];
    for (int l = 0; l < kLanes; ++l) upper[l] = pairs[l] >> 16;
    halves_to_floats(pairs, low);
    halves_to_floats(upper, high);
    if (wave.mode.flush_in64()) {
      flush_half_denormals(low);
      flush_half_denormals(high);
    }
  }
  alignas(64) float low[kLanes];
  alignas(64) float high[kLanes];
};

/// Rounds both halves to f16 and writes the pairs.
inline void commit_pairs(Wave& wave, const Inst& inst, float* low, float* high) {
  if (inst.out.clamp) {
    apply_output_modifiers_f16(wave, inst, low);
    apply_output_modifiers_f16(wave, inst, high);
  }
  alignas(64) uint32_t low_bits[kLanes], high_bits[kLanes];
  floats_to_halves(low, low_bits, wave.mode);
  floats_to_halves(high, high_bits, wave.mode);
  for (int l = 0; l < kLanes; ++l) low_bits[l] |= high_bits[l] << 16;
  blend(wave.destination(inst), low_bits, wave.exec_half());
}

/// Two f16 operations, with hardware's NaN results.
template <auto kFunction>
struct packed_float {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if (wave.mode.split() && !wave.in_mode64) [[unlikely]] {
      return with_mode64(wave, inst, &run<D, A, B, C>);
    }
    const HalfPairs a(wave, *inst, 0), b(wave, *inst, 1);
    alignas(64) float low[kLanes], high[kLanes];
    if constexpr (C == None) {
      compute(a.low, b.low, static_cast<const float*>(nullptr), low);
      compute(a.high, b.high, static_cast<const float*>(nullptr), high);
    } else {
      const HalfPairs c(wave, *inst, 2);
      compute(a.low, b.low, c.low, low);
      compute(a.high, b.high, c.high, high);
    }
    commit_pairs(wave, *inst, low, high);
    return inst + 1;
  }

 private:
  static float apply(const float* a, const float* b, const float* c, int l) {
    if constexpr (requires { kFunction(0.0f, 0.0f, 0.0f); }) {
      return kFunction(a[l], b[l], c[l]);
    } else {
      return kFunction(a[l], b[l]);
    }
  }
  static void compute(const float* a, const float* b, const float* c, float* out) {
    for (int l = 0; l < kLanes; ++l) {
      const float value = apply(a, b, c, l);
      out[l] = is_nan(value) ? nan_result(a[l], b[l], c == nullptr ? 0.0f : c[l]) : value;
    }
  }
};

/// Two f16 minima or maxima.
template <auto kFunction>
struct packed_min_max {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const MinMaxMode mode{.ieee = wave.mode.ieee(), .flush = false};
    const HalfPairs a(wave, *inst, 0), b(wave, *inst, 1);
    alignas(64) float low[kLanes], high[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      low[l] = kFunction(mode, a.low[l], b.low[l]);
      high[l] = kFunction(mode, a.high[l], b.high[l]);
    }
    commit_pairs(wave, *inst, low, high);
    return inst + 1;
  }
};

/// Two 16-bit integer operations; CLAMP saturates.
template <class T, auto kFunction>
struct packed_integer {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const Source<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    const bool clamp = inst->out.clamp;
    for (int l = 0; l < kLanes; ++l) {
      const uint32_t x = a[l], y = b[l], z = c[l];
      results.set(l, pack16(half(x, y, z, clamp), half(x >> 16, y >> 16, z >> 16, clamp)));
    }
    results.commit(wave, *inst);
    return inst + 1;
  }

 private:
  static uint32_t half(uint32_t a, uint32_t b, uint32_t c, bool clamp) {
    const T x = static_cast<T>(a), y = static_cast<T>(b), z = static_cast<T>(c);
    if constexpr (requires { kFunction(int64_t{}, int64_t{}, int64_t{}); }) {
      if (clamp)
        return static_cast<uint16_t>(saturated<T>(kFunction(int64_t{x}, int64_t{y}, int64_t{z})));
      return static_cast<uint16_t>(kFunction(x, y, z));
    } else {
      if (clamp) return static_cast<uint16_t>(saturated<T>(kFunction(int64_t{x}, int64_t{y})));
      return static_cast<uint16_t>(kFunction(x, y));
    }
  }
};

struct pk_mad_i16 : packed_integer<int16_t, mad_int> {};
struct pk_mad_u16 : packed_integer<uint16_t, mad_int> {};
struct pk_mul_lo_u16 : packed_integer<uint16_t, mul_lo> {};
struct pk_add_i16 : packed_integer<int16_t, add_nc> {};
struct pk_sub_i16 : packed_integer<int16_t, sub_nc> {};
struct pk_add_u16 : packed_integer<uint16_t, add_nc> {};
struct pk_sub_u16 : packed_integer<uint16_t, sub_nc> {};
struct pk_max_i16 : packed_integer<int16_t, max> {};
struct pk_min_i16 : packed_integer<int16_t, min> {};
struct pk_max_u16 : packed_integer<uint16_t, max> {};
struct pk_min_u16 : packed_integer<uint16_t, min> {};
inline constexpr auto shift_left_16 = [](auto count, auto value) {
  return static_cast<decltype(value)>(value << (count & 15));
};
inline constexpr auto shift_right_16 = [](auto count, auto value) {
  return static_cast<decltype(value)>(value >> (count & 15));
};
struct pk_lshlrev_b16 : packed_integer<uint16_t, shift_left_16> {};
struct pk_lshrrev_b16 : packed_integer<uint16_t, shift_right_16> {};
struct pk_ashrrev_i16 : packed_integer<int16_t, shift_right_16> {};
struct pk_fma_f16 : packed_float<fma_f16> {};
struct pk_fmac_f16 : packed_float<fma_f16> {};
struct pk_add_f16 : packed_float<add> {};
struct pk_mul_f16 : packed_float<mul> {};
struct pk_min_f16 : packed_min_max<fmin> {};
struct pk_max_f16 : packed_min_max<fmax> {};

// Dot products.

/// Hardware flushes f32 denormals here whatever MODE says.
inline float flush_f32(float value) {
  return flushed(MinMaxMode{.ieee = false, .flush = true}, value);
}
inline constexpr auto dot2_f32_f16 = [](uint32_t a, uint32_t b, float c) {
  const float low = half_to_float(low_half(a)) * half_to_float(low_half(b));
  const float high = half_to_float(high_half(a)) * half_to_float(high_half(b));
  return flush_f32(low + high + flush_f32(c));
};
inline constexpr auto dot2acc_f32_f16 = dot2_f32_f16;
inline constexpr auto dot2_f32_bf16 = [](uint32_t a, uint32_t b, float c) {
  const float low = bfloat_to_float(low_half(a)) * bfloat_to_float(low_half(b));
  const float high = bfloat_to_float(high_half(a)) * bfloat_to_float(high_half(b));
  return flush_f32(low + high + flush_f32(c));
};
inline constexpr auto dot2acc_f32_bf16 = dot2_f32_bf16;
inline constexpr auto dot2_f16_f16 = [](uint32_t a, uint32_t b, float c) {
  const float low = half_to_float(low_half(a)) * half_to_float(low_half(b));
  const float high = half_to_float(high_half(a)) * half_to_float(high_half(b));
  return low + high + c;
};
inline constexpr auto dot2_bf16_bf16 = [](uint32_t a, uint32_t b, uint16_t c) {
  return float_to_bfloat(dot2_f32_bf16(a, b, bfloat_to_float(c)));
};

/// Sum of products of the integer fields of two registers, plus an accumulator; CLAMP saturates.
/// The NEG bits of IU forms say which source is signed.
template <uint32_t kBits, bool kSignedByNeg, bool kSigned = false>
struct integer_dot {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint32_t neg = kSignedByNeg && inst->extra != nullptr ? inst->extra->neg : 0;
    const bool signed_a = kSignedByNeg ? (neg & 1) != 0 : kSigned;
    const bool signed_b = kSignedByNeg ? (neg & 2) != 0 : kSigned;
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const Source<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    for (int l = 0; l < kLanes; ++l) {
      int64_t sum = c[l];
      const uint32_t x = a[l], y = b[l];
      for (uint32_t i = 0; i < 32 / kBits; ++i) {
        sum += field(x, i, signed_a) * field(y, i, signed_b);
      }
      results.set(
          l, inst->out.clamp ? saturated<lane_value<D>>(sum) : static_cast<lane_value<D>>(sum));
    }
    results.commit(wave, *inst);
    return inst + 1;
  }

 private:
  static int64_t field(uint32_t value, uint32_t index, bool is_signed) {
    const uint32_t left = value << (32 - kBits * (index + 1));
    return is_signed ? int64_t{static_cast<int32_t>(left) >> (32 - kBits)}
                     : int64_t{left >> (32 - kBits)};
  }
};
struct dot4_i32_iu8 : integer_dot<8, true> {};
struct dot8_i32_iu4 : integer_dot<4, true> {};
struct dot4_u32_u8 : integer_dot<8, false> {};
struct dot8_u32_u4 : integer_dot<4, false> {};
struct dot4_i32_i8 : integer_dot<8, false, true> {};
struct dot8_i32_i4 : integer_dot<4, false, true> {};
struct dot4c_i32_i8 : integer_dot<8, false, true> {};
struct dot2_i32_i16 : integer_dot<16, false, true> {};
struct dot2_u32_u16 : integer_dot<16, false> {};

/// V_FMA_MIXLO and V_FMA_MIXHI: an f32 FMA, rounded to f16 into one half of the destination.
template <bool kHigh>
struct fma_mix_half {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const Source<F32> a(wave, *inst, 0);
    const Source<F32> b(wave, *inst, 1);
    const Source<F32> c(wave, *inst, 2);
    alignas(64) float values[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      const float value = std::fma(a[l], b[l], c[l]);
      values[l] = is_nan(value) ? nan_result(a[l], b[l], c[l]) : value;
    }
    if (inst->out.clamp) apply_output_modifiers_f16(wave, *inst, values);
    alignas(64) uint32_t bits[kLanes];
    floats_to_halves(values, bits, wave.mode);
    uint32_t* destination = wave.destination(*inst);
    for (int l = 0; l < kLanes; ++l) {
      bits[l] = kHigh ? (destination[l] & 0xffff) | bits[l] << 16
                      : (destination[l] & 0xffff0000) | bits[l];
    }
    blend(destination, bits, wave.exec_half());
    return inst + 1;
  }
};
struct fma_mixlo_f16 : fma_mix_half<false> {};
struct fma_mixhi_f16 : fma_mix_half<true> {};

DOPPEL_END_LEVEL
