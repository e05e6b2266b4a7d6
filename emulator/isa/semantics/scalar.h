// Scalar instructions: `kFunction(wave, sources...)` returns the destination's value and sets SCC
// itself where the instruction does.
#pragma once

#include <cstdint>
#include <cstring>

#include "emulator/isa/semantics/row_shapes.h"

DOPPEL_BEGIN_LEVEL

template <OperandType T>
constexpr bool is_scalar_pair = T == B64 || T == I64 || T == U64;
template <OperandType T>
constexpr bool is_immediate =
    T == Imm16 || T == Hex16 || T == OptionalImm16 || T == SImm16 || T == Label || T == HwReg ||
    T == SendMsg || T == SendMsgRtn || T == WaitCnt || T == DepCtr || T == DelayAlu;

template <OperandType T>
auto scalar_source(const Wave& wave, const Inst& inst, uint32_t index) {
  if constexpr (is_immediate<T>) {
    return inst.literal;
  } else if constexpr (is_scalar_pair<T>) {
    uint64_t value;
    std::memcpy(&value, wave.source(inst, index), sizeof value);
    return value;
  } else {
    uint32_t value;
    std::memcpy(&value, wave.source(inst, index), sizeof value);
    return value;
  }
}

template <auto kFunction>
struct scalar {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (D == None) {
      call<A, B, C>(wave, inst);
    } else if constexpr (is_scalar_pair<D>) {
      wave.set_pair(inst->sdst, static_cast<uint64_t>(call<A, B, C>(wave, inst)));
    } else {
      wave.s[inst->sdst] = static_cast<uint32_t>(call<A, B, C>(wave, inst));
    }
    return inst + 1;
  }

 private:
  template <OperandType A, OperandType B, OperandType C>
  static auto call(Wave& wave, const Inst* inst) {
    if constexpr (A == None) {
      return kFunction(wave);
    } else if constexpr (B == None) {
      return kFunction(wave, scalar_source<A>(wave, *inst, 0));
    } else if constexpr (C == None) {
      return kFunction(wave, scalar_source<A>(wave, *inst, 0), scalar_source<B>(wave, *inst, 1));
    } else {
      return kFunction(wave, scalar_source<A>(wave, *inst, 0), scalar_source<B>(wave, *inst, 1),
                       scalar_source<C>(wave, *inst, 2));
    }
  }
};

/// An instruction that is a handler of its own: control flow, waits, messages.
template <Handler kHandler>
struct control {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    return kHandler(wave, inst);
  }
};

DOPPEL_END_LEVEL
