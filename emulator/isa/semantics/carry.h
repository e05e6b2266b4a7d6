// Vector instructions that read or write a lane mask: carries, selects, comparisons.
#pragma once

#include <cstdint>

#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

/// Bits of a lane mask in the lanes that are on; the others keep their value in `previous`.
inline void write_mask(Wave& wave, uint32_t sgpr, uint32_t bits) {
  wave.s[sgpr + wave.half] = bits;
}

/// 32-bit addition and subtraction with carry; CLAMP replaces results that carry out.
template <auto kFunction, bool kCarryIn, uint32_t kClamped>
struct carry_lanes {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const Source<U32> a(wave, *inst, 0);
    const Source<U32> b(wave, *inst, 1);
    const uint32_t exec = wave.exec_half();
    const bool clamp = inst->out.clamp;
    const uint32_t carries = kCarryIn ? wave.s[inst->smask + wave.half] : 0;
    Results<U32> results(wave, *inst);
    alignas(64) uint32_t carry_out[kLanes];
    DOPPEL_INDEPENDENT_LANES
    for (int l = 0; l < kLanes; ++l) {
      const uint32_t x = a[l], y = b[l], carry = carries >> l & 1u;
      const auto [value, out] = kFunction(x, y, carry);
      results.set(l, clamp && out != 0 ? kClamped : value);
      carry_out[l] = out << l;
    }
    uint32_t mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= carry_out[l];
    results.commit(wave, *inst);
    write_mask(wave, inst->sdst, mask & exec);
    return inst + 1;
  }
};

struct CarryResult {
  uint32_t value;
  uint32_t carry;
};
inline constexpr auto add_with_carry = [](uint32_t a, uint32_t b, uint32_t carry) {
  const uint32_t partial = a + b;
  const uint32_t value = partial + carry;
  return CarryResult{value,
                     static_cast<uint32_t>(partial < a) | static_cast<uint32_t>(value < partial)};
};
inline constexpr auto sub_with_borrow = [](uint32_t a, uint32_t b, uint32_t borrow) {
  const uint32_t partial = a - b;
  const uint32_t value = partial - borrow;
  return CarryResult{value, static_cast<uint32_t>(a < b) | static_cast<uint32_t>(partial < borrow)};
};
inline constexpr auto subrev_with_borrow = [](uint32_t a, uint32_t b, uint32_t borrow) {
  return sub_with_borrow(b, a, borrow);
};

struct add_co_u32 : carry_lanes<add_with_carry, false, ~0u> {};
struct sub_co_u32 : carry_lanes<sub_with_borrow, false, 0> {};
struct subrev_co_u32 : carry_lanes<subrev_with_borrow, false, 0> {};
struct add_co_ci_u32 : carry_lanes<add_with_carry, true, ~0u> {};
struct sub_co_ci_u32 : carry_lanes<sub_with_borrow, true, 0> {};
struct subrev_co_ci_u32 : carry_lanes<subrev_with_borrow, true, 0> {};

/// 64-bit multiply-add; the mask is the carry (or signed overflow) out.
struct mad_64_32 {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const Source<C> c(wave, *inst, 2);
    Results<D> results(wave, *inst);
    uint32_t mask = 0;
    for (int l = 0; l < kLanes; ++l) {
      const lane_value<D> product = static_cast<lane_value<D>>(a[l]) * b[l];
      lane_value<D> sum;
      const bool overflow = __builtin_add_overflow(product, c[l], &sum);
      results.set(l, sum);
      mask |= static_cast<uint32_t>(overflow) << l;
    }
    results.commit(wave, *inst);
    write_mask(wave, inst->sdst, mask & wave.exec_half());
    return inst + 1;
  }
};
struct mad_u64_u32 : mad_64_32 {};
struct mad_i64_i32 : mad_64_32 {};

/// src1 where the lane's mask bit is set, else src0.
struct select_lanes {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    const uint32_t mask = wave.s[inst->smask + wave.half];
    Results<D> results(wave, *inst);
    DOPPEL_INDEPENDENT_LANES
    for (int l = 0; l < kLanes; ++l) results.set(l, (mask >> l & 1u) != 0 ? b[l] : a[l]);
    results.commit(wave, *inst);
    return inst + 1;
  }
};

/// V_CMP: a mask of the lanes that are on and whose values compare so. V_CMPX: the same into EXEC.
template <auto kFunction, bool kExec>
struct compare_lanes {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (uses_mode64<A>) {
      if (wave.mode.split() && !wave.in_mode64) [[unlikely]] {
        return with_mode64(wave, inst, &run<D, A, B, C>);
      }
    }
    const Source<A> a(wave, *inst, 0);
    const Source<B> b(wave, *inst, 1);
    alignas(64) uint32_t bits[kLanes];
    DOPPEL_INDEPENDENT_LANES
    for (int l = 0; l < kLanes; ++l) bits[l] = kFunction(a[l], b[l]) ? 1u << l : 0u;
    uint32_t mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= bits[l];
    mask &= wave.exec_half();
    if constexpr (kExec) {
      wave.s[kExecLo + wave.half] = mask;
      write_mask(wave, inst->sdst, mask);  // the sink, or what VOP3's VDST names beside EXEC
    } else {
      write_mask(wave, inst->sdst, mask);
    }
    return inst + 1;
  }
};
template <auto kFunction>
struct compare : compare_lanes<kFunction, false> {};
template <auto kFunction>
struct compare_exec : compare_lanes<kFunction, true> {};

inline constexpr auto never = [](auto, auto) { return false; };
inline constexpr auto always = [](auto, auto) { return true; };
inline constexpr auto lt = [](auto a, auto b) { return a < b; };
inline constexpr auto eq = [](auto a, auto b) { return a == b; };
inline constexpr auto le = [](auto a, auto b) { return a <= b; };
inline constexpr auto gt = [](auto a, auto b) { return a > b; };
inline constexpr auto ge = [](auto a, auto b) { return a >= b; };
inline constexpr auto ne = [](auto a, auto b) { return a != b; };
inline constexpr auto lg = [](auto a, auto b) { return a < b || a > b; };
inline constexpr auto ordered = [](auto a, auto b) { return a == a && b == b; };
inline constexpr auto unordered = [](auto a, auto b) { return a != a || b != b; };
inline constexpr auto nge = [](auto a, auto b) { return !(a >= b); };
inline constexpr auto nlg = [](auto a, auto b) { return !(a < b || a > b); };
inline constexpr auto ngt = [](auto a, auto b) { return !(a > b); };
inline constexpr auto nle = [](auto a, auto b) { return !(a <= b); };
inline constexpr auto neq = [](auto a, auto b) { return !(a == b); };
inline constexpr auto nlt = [](auto a, auto b) { return !(a < b); };

DOPPEL_END_LEVEL
