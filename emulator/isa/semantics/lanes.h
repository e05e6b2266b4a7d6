// Per-lane execution: how a vector instruction's sources become 32 values, and how 32 results reach
// the destination under EXEC. The arithmetic itself is a pure function of values (float.h,
// integer.h, convert.h); here it meets registers.
//
// Loops run over all 32 lanes whatever EXEC says and write the active ones: straight-line code that
// the compiler vectorises. With full EXEC and a destination that is no source, results go straight
// to the register; else they go through a buffer and a blend.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "emulator/isa/semantics/float.h"
#include "emulator/isa/semantics/half.h"
#include "emulator/isa/semantics/integer.h"
#include "emulator/isa/semantics/row_shapes.h"

DOPPEL_BEGIN_LEVEL

constexpr int kLanes = 32;

template <OperandType T>
constexpr bool is_half = T == F16;
template <OperandType T>
constexpr bool is_wide = T == B64 || T == I64 || T == U64 || T == F64;
/// Types whose arithmetic follows the f16/f64 fields of MODE.
template <OperandType T>
constexpr bool uses_mode64 = T == F16 || T == F64 || T == Pk2F16;

/// The value a lane of an operand type has in a pure function. f16 is computed as float (exact:
/// 24 bits suffice for one rounding of +, -, *, / and sqrt to 11 bits).
template <OperandType T>
struct LaneValue {
  using type = uint32_t;
};
template <>
struct LaneValue<F32> {
  using type = float;
};
template <>
struct LaneValue<F64> {
  using type = double;
};
template <>
struct LaneValue<F16> {
  using type = float;
};
template <>
struct LaneValue<Mix> {
  using type = float;
};
template <>
struct LaneValue<Exponent> {
  using type = int32_t;
};
template <>
struct LaneValue<I32> {
  using type = int32_t;
};
template <>
struct LaneValue<I16> {
  using type = int16_t;
};
template <>
struct LaneValue<U16> {
  using type = uint16_t;
};
template <>
struct LaneValue<BF16> {
  using type = uint16_t;
};
template <>
struct LaneValue<F16Bits> {
  using type = uint16_t;
};
template <>
struct LaneValue<B16> {
  using type = uint16_t;
};
template <>
struct LaneValue<I64> {
  using type = int64_t;
};
template <>
struct LaneValue<U64> {
  using type = uint64_t;
};
template <>
struct LaneValue<B64> {
  using type = uint64_t;
};
template <OperandType T>
using lane_value = typename LaneValue<T>::type;

/// 32 lanes of a source.
template <OperandType T>
class Source {
 public:
  Source(const Wave& wave, const Inst& inst, uint32_t index)
      : lanes_(reinterpret_cast<const uint32_t*>(wave.source(inst, index))) {}
  lane_value<T> operator[](int lane) const {
    if constexpr (is_wide<T>) {
      return std::bit_cast<lane_value<T>>(lanes_[lane] | uint64_t{lanes_[lane + kLanes]} << 32);
    } else if constexpr (sizeof(lane_value<T>) == 2) {
      return static_cast<lane_value<T>>(lanes_[lane]);
    } else {
      return std::bit_cast<lane_value<T>>(lanes_[lane]);
    }
  }

 private:
  const uint32_t* lanes_;
};

template <>
class Source<F16> {
 public:
  Source(const Wave& wave, const Inst& inst, uint32_t index) {
    halves_to_floats(reinterpret_cast<const uint32_t*>(wave.source(inst, index)), lanes_);
    if (wave.mode.flush_in64()) flush_half_denormals(lanes_);
  }
  float operator[](int lane) const { return lanes_[lane]; }

 protected:
  alignas(64) float lanes_[kLanes];
};

/// A source whose signalling NaNs stay so.
template <OperandType T>
struct RawSource : Source<T> {
  using Source<T>::Source;
};
template <>
struct RawSource<F16> : Source<F16> {
  RawSource(const Wave& wave, const Inst& inst, uint32_t index) : Source(wave, inst, index) {
    keep_signalling(reinterpret_cast<const uint32_t*>(wave.source(inst, index)), lanes_);
  }
};

template <>
class Source<None> {
 public:
  Source(const Wave&, const Inst&, uint32_t) {}
  uint32_t operator[](int) const { return 0; }
};

/// dst = results in the lanes that are on.
inline void blend(uint32_t* dst, const uint32_t* results, uint32_t exec) {
  if (exec == ~0u) {
    std::memcpy(dst, results, kLanes * sizeof(uint32_t));
    return;
  }
  DOPPEL_INDEPENDENT_LANES
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t on = 0u - ((exec >> l) & 1u);
    dst[l] = (results[l] & on) | (dst[l] & ~on);
  }
}

void apply_output_modifiers_f32(const Wave& wave, const Inst& inst, float* results);
void apply_output_modifiers_f16(const Wave& wave, const Inst& inst, float* results);
void apply_output_modifiers_f64(const Wave& wave, const Inst& inst, uint32_t* results);

/// Where 32 results go: buffer or register.
template <OperandType T>
class Results {
 public:
  static constexpr int kRegisters = is_wide<T> ? 2 : 1;

  Results(Wave& wave, const Inst& inst)
      : destination_(wave.destination(inst)),
        out_(wave.exec_half() == ~0u && !inst.destination_is_source && !inst.out.scales()
                 ? destination_
                 : buffer_) {}

  void set(int lane, lane_value<T> value) {
    if constexpr (is_wide<T>) {
      const auto bits = std::bit_cast<uint64_t>(value);
      out_[lane] = static_cast<uint32_t>(bits);
      out_[lane + kLanes] = static_cast<uint32_t>(bits >> 32);
    } else {
      out_[lane] = std::bit_cast<uint32_t>(value);
    }
  }
  uint32_t* raw() { return out_; }
  void commit(const Wave& wave, const Inst& inst) {
    if (out_ == destination_) return;
    if constexpr (T == F32) {
      if (inst.out.scales()) {
        apply_output_modifiers_f32(wave, inst, reinterpret_cast<float*>(buffer_));
      }
    } else if constexpr (T == F64) {
      if (inst.out.scales()) apply_output_modifiers_f64(wave, inst, buffer_);
    }
    for (int r = 0; r < kRegisters; ++r) {
      blend(destination_ + r * kLanes, buffer_ + r * kLanes, wave.exec_half());
    }
  }

 private:
  alignas(64) uint32_t buffer_[kLanes * kRegisters];
  uint32_t* destination_;
  uint32_t* out_;
};

/// 16-bit results replace one half of the register.
template <OperandType T>
requires(T == F16 || sizeof(lane_value<T>) == 2) class Results<T> {
 public:
  Results(Wave& wave, const Inst& inst) : destination_(wave.destination(inst)) {}

  void set(int lane, lane_value<T> value) { values_[lane] = value; }
  uint32_t* raw() { return reinterpret_cast<uint32_t*>(values_); }
  void commit(const Wave& wave, const Inst& inst) {
    alignas(64) uint32_t bits[kLanes];
    if constexpr (T == F16) {
      if (inst.out.scales()) apply_output_modifiers_f16(wave, inst, values_);
      floats_to_halves(values_, bits, wave.mode);
    } else {
      for (int l = 0; l < kLanes; ++l) bits[l] = static_cast<uint16_t>(values_[l]);
    }
    const uint32_t shift = inst.out.high_half ? 16 : 0;
    const uint32_t keep = inst.out.high_half ? 0x0000ffff : 0xffff0000;
    for (int l = 0; l < kLanes; ++l) bits[l] = (destination_[l] & keep) | bits[l] << shift;
    blend(destination_, bits, wave.exec_half());
  }

 private:
  alignas(64) lane_value<T> values_[kLanes];
  uint32_t* destination_;
};

/// Runs `body` with MXCSR set for f16 and f64 arithmetic.
const Inst* with_mode64(Wave& wave, const Inst* inst, Handler body);

template <OperandType D, OperandType A, OperandType B, OperandType C>
constexpr bool needs_mode64() {
  return uses_mode64<D> || (D != F32 && (uses_mode64<A> || uses_mode64<B> || uses_mode64<C>));
}

template <auto kFunction, OperandType D, OperandType A, OperandType B, OperandType C>
auto apply(const Source<A>& a, const Source<B>& b, const Source<C>& c, int lane) {
  if constexpr (A == None) {
    return static_cast<lane_value<D>>(kFunction());
  } else if constexpr (B == None) {
    return static_cast<lane_value<D>>(kFunction(a[lane]));
  } else if constexpr (C == None) {
    return static_cast<lane_value<D>>(kFunction(a[lane], b[lane]));
  } else {
    return static_cast<lane_value<D>>(kFunction(a[lane], b[lane], c[lane]));
  }
}

/// A pure function applied to each lane.
template <auto kFunction>
struct lanes {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (needs_mode64<D, A, B, C>()) {
      if (wave.mode.split() && !wave.in_mode64) [[unlikely]] {
        return with_mode64(wave, inst, &run<D, A, B, C>);
      }
    }
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const Source<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    DOPPEL_INDEPENDENT_LANES
    for (int l = 0; l < kLanes; ++l) results.set(l, apply<kFunction, D, A, B, C>(a, b, c, l));
    results.commit(wave, *inst);
    return inst + 1;
  }
};

/// Integer arithmetic that the CLAMP bit makes saturate: computed exactly, then clamped to the
/// destination's range. `kFunction` wraps at the width it is called with.
template <auto kFunction>
struct saturate {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if (!inst->out.clamp) return lanes<kFunction>::template run<D, A, B, C>(wave, inst);
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const Source<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    for (int l = 0; l < kLanes; ++l) {
      int64_t exact;
      if constexpr (C == None) {
        exact = kFunction(static_cast<int64_t>(a[l]), static_cast<int64_t>(b[l]));
      } else {
        exact = kFunction(static_cast<int64_t>(a[l]), static_cast<int64_t>(b[l]),
                          static_cast<int64_t>(c[l]));
      }
      results.set(l, saturated<lane_value<D>>(exact));
    }
    results.commit(wave, *inst);
    return inst + 1;
  }
};

/// A float function that depends on MODE beyond MXCSR: minimum, maximum and their like.
template <auto kFunction>
struct min_max {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const MinMaxMode mode{.ieee = wave.mode.ieee(),
                          .flush = D == F32 && (wave.mode.flush_in32() || wave.mode.flush_out32())};
    const MinMaxMode mode_wide{.ieee = mode.ieee,
                               .flush = wave.mode.flush_in64() || wave.mode.flush_out64()};
    const MinMaxMode& chosen = D == F64 ? mode_wide : mode;
    const RawSource<A> a(wave, *inst, 0);
    const RawSource<B> b(wave, *inst, 1);
    const RawSource<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    DOPPEL_INDEPENDENT_LANES
    for (int l = 0; l < kLanes; ++l) {
      if constexpr (C == None) {
        results.set(l, kFunction(chosen, a[l], b[l]));
      } else {
        results.set(l, kFunction(chosen, a[l], b[l], c[l]));
      }
    }
    results.commit(wave, *inst);
    return inst + 1;
  }
};

/// The quiet NaN an arithmetic operation gives: the first NaN among its sources, quieted; else (an
/// invalid operation) the default NaN.
inline float nan_result(float a, float b, float c) {
  const float first = a != a ? a : b != b ? b : c;
  return std::bit_cast<float>(first != first ? std::bit_cast<uint32_t>(first) | 0x00400000u
                                             : 0xffc00000u);
}
inline double nan_result(double a, double b, double c) {
  const double first = a != a ? a : b != b ? b : c;
  return std::bit_cast<double>(first != first ? std::bit_cast<uint64_t>(first) | 0x0008000000000000u
                                              : 0xfff8000000000000u);
}

/// Float arithmetic: as `lanes`, and a NaN result is the one hardware gives (x86 has another
/// default NaN, and compilers commute operands).
template <auto kFunction>
struct arith {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (needs_mode64<D, A, B, C>()) {
      if (wave.mode.split() && !wave.in_mode64) [[unlikely]] {
        return with_mode64(wave, inst, &run<D, A, B, C>);
      }
    }
    using Value = lane_value<D>;
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const Source<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    uint32_t nans = 0;
    DOPPEL_INDEPENDENT_LANES
    for (int l = 0; l < kLanes; ++l) {
      const Value value = apply<kFunction, D, A, B, C>(a, b, c, l);
      results.set(l, value);
      nans |= value != value ? 1u : 0u;
    }
    if (nans != 0) [[unlikely]] {
      for (int l = 0; l < kLanes; ++l) {
        const Value value = apply<kFunction, D, A, B, C>(a, b, c, l);
        if (value == value) continue;
        results.set(l, nan_result(static_cast<Value>(a[l]), static_cast<Value>(b[l]),
                                  C == None ? Value{} : static_cast<Value>(c[l])));
      }
    }
    results.commit(wave, *inst);
    return inst + 1;
  }
};

DOPPEL_END_LEVEL
