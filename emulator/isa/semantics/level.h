// Everything under semantics/ is compiled once per x86-64 level, into a namespace of that name, so
// that no inline function compiled for one level is ever linked into another.
#pragma once

#ifndef DOPPEL_ISA_LEVEL
#error "compiled per x86-64 level: see emulator/isa/CMakeLists.txt"
#endif

#define DOPPEL_BEGIN_LEVEL     \
  namespace doppel::isa {      \
  namespace DOPPEL_ISA_LEVEL { \
  using emu::Wave;             \
  using enum OperandType;
#define DOPPEL_END_LEVEL \
  }                      \
  }

// Before a loop over lanes: what one lane writes, no other reads. (A destination may be one of the
// sources, lane by lane; without this the compiler would test for it at run time.)
#ifdef __clang__
#define DOPPEL_INDEPENDENT_LANES
#else
#define DOPPEL_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif
