// How a table's rows become an array of RowHandlers: each row's semantics column names a shape, a
// class with `run<dst, src0, src1, src2>`, `scope` and `implemented`.
#pragma once

#include "emulator/isa/handlers.h"
#include "emulator/isa/row.h"
#include "emulator/isa/semantics/level.h"
#include "emulator/wave/wave.h"

DOPPEL_BEGIN_LEVEL

/// "_" in a row.
struct AbsentColumn {
  constexpr operator OperandType() const { return OperandType::None; }
};
inline constexpr AbsentColumn _;

/// The third source of rows that take it from their destination or from a literal.
constexpr OperandType third_source(OperandType dst, OperandType src2, uint32_t flags) {
  return (flags & (Acc | KMul | KAdd)) != 0 && src2 == None && dst != None ? dst : src2;
}

/// Decodes and disassembles; executing it is a fault that names it.
struct unimplemented {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = false;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst);
};

const Inst* raise_unimplemented(Wave& wave, const Inst* inst);

template <OperandType D, OperandType A, OperandType B, OperandType C>
const Inst* unimplemented::run(Wave& wave, const Inst* inst) {
  return raise_unimplemented(wave, inst);
}

/// VOPD rows run the VOP1 or VOP2 row of the same name; see lower.cpp.
using paired = unimplemented;

template <class Shape, OperandType D, OperandType A, OperandType B, OperandType C>
constexpr RowHandler row_handler() {
  return {&Shape::template run<D, A, B, C>, Shape::scope, Shape::implemented};
}

DOPPEL_END_LEVEL

#define DOPPEL_ROW_HANDLER(table, name, gfx10_name, op10, op11, op11_5, dst, src0, src1, src2, \
                           flags, semantics, fidelity)                                         \
  row_handler<semantics, dst, src0, src1, third_source(dst, src2, flags)>(),
