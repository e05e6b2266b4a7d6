// FLAT, GLOBAL and SCRATCH.
#include "emulator/isa/semantics/memory.h"

DOPPEL_BEGIN_LEVEL

namespace {

template <OperandType T>
constexpr int dwords_of = T == B32   ? 1
                          : T == B64 ? 2
                          : T == B96 ? 3
                                     : 4;

struct global_load_dwords {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint32_t exec = wave.exec_half();
    if (exec == 0) return inst + 1;
    alignas(64) uint64_t va[32];
    global_addresses(wave, inst, va);
    LanePointers pointers;
    constexpr int kDwords = dwords_of<D>;
    if (!translate_lanes(wave, inst, va, exec, kDwords * 4, emu::Access::Read, pointers)) {
      return nullptr;
    }
    load_dwords<kDwords>(pointers, exec, wave.destination(*inst));
    return inst + 1;
  }
};

struct global_store_dwords {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint32_t exec = wave.exec_half();
    if (exec == 0) return inst + 1;
    alignas(64) uint64_t va[32];
    global_addresses(wave, inst, va);
    LanePointers pointers;
    constexpr int kDwords = dwords_of<A>;
    if (!translate_lanes(wave, inst, va, exec, kDwords * 4, emu::Access::Write, pointers)) {
      return nullptr;
    }
    store_dwords<kDwords>(wave.vgpr(inst->data), exec, pointers);
    return inst + 1;
  }
};

}  // namespace

extern const RowHandler kFlat[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/flat.inc"
#undef INST
};
extern const RowHandler kScratch[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/scratch.inc"
#undef INST
};
extern const RowHandler kGlobal[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/global.inc"
#undef INST
};

DOPPEL_END_LEVEL
