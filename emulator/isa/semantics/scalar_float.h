// The scalar float instructions of gfx11.5: the vector operations' functions on SGPRs.
#pragma once

#include "emulator/isa/semantics/carry.h"
#include "emulator/isa/semantics/convert.h"
#include "emulator/isa/semantics/scalar.h"

DOPPEL_BEGIN_LEVEL

template <OperandType T>
auto scalar_value(const Wave& wave, const Inst& inst, uint32_t index) {
  const auto bits = scalar_source<B32>(wave, inst, index);
  if constexpr (T == F32) {
    return std::bit_cast<float>(bits);
  } else if constexpr (T == F16) {
    return half_to_float(bits & 0xffff);
  } else if constexpr (T == I32) {
    return static_cast<int32_t>(bits);
  } else {
    return bits;
  }
}

inline float scalar_nan(float value, float a, float b, float c) {
  return is_nan(value) ? nan_result(a, b, c) : value;
}

/// D = kFunction(sources), with hardware's NaN results.
template <auto kFunction>
struct scalar_float {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (needs_mode64<D, A, B, C>()) {
      if (wave.mode.split() && !wave.in_mode64) return with_mode64(wave, inst, &run<D, A, B, C>);
    }
    wave.s[inst->sdst] = to_register<D>(wave, compute<A, B, C>(wave, *inst));
    return inst + 1;
  }

 private:
  template <OperandType A, OperandType B, OperandType C>
  static auto compute(const Wave& wave, const Inst& inst) {
    const auto a = scalar_value<A>(wave, inst, 0);
    if constexpr (B == None) {
      const auto value = kFunction(a);
      if constexpr (std::is_same_v<decltype(value), const float> &&
                    std::is_same_v<decltype(a), const float>) {
        return scalar_nan(value, a, 0.0f, 0.0f);
      } else {
        return value;
      }
    } else if constexpr (C == None) {
      const auto b = scalar_value<B>(wave, inst, 1);
      if constexpr (requires { kFunction(MinMaxMode{}, a, b); }) {
        const bool flush = A == F32 && (wave.mode.flush_in32() || wave.mode.flush_out32());
        return kFunction(MinMaxMode{.ieee = wave.mode.ieee(), .flush = flush}, a, b);
      } else if constexpr (std::is_same_v<decltype(kFunction(a, b)), float>) {
        return scalar_nan(kFunction(a, b), a, b, 0.0f);
      } else {
        return kFunction(a, b);
      }
    } else {
      const auto b = scalar_value<B>(wave, inst, 1);
      const auto c = scalar_value<C>(wave, inst, 2);
      return scalar_nan(kFunction(a, b, c), a, b, c);
    }
  }

  template <OperandType D, class T>
  static uint32_t to_register(const Wave& wave, T value) {
    if constexpr (D == F16 && std::is_same_v<T, float>) {
      alignas(16) float lanes[kLanes] = {value};
      alignas(16) uint32_t bits[kLanes];
      floats_to_halves(lanes, bits, wave.mode);
      return bits[0];
    } else {
      return std::bit_cast<uint32_t>(value);
    }
  }
};

/// SCC = kFunction(sources).
template <auto kFunction>
struct scalar_float_compare {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    wave.scc = kFunction(scalar_value<A>(wave, *inst, 0), scalar_value<B>(wave, *inst, 1));
    return inst + 1;
  }
};

/// The upper half of the register, as f16.
inline constexpr auto cvt_hi_f32_f16 = [](uint32_t bits) { return half_to_float(bits >> 16); };

DOPPEL_END_LEVEL
