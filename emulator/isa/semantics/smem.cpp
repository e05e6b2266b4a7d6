// SMEM: scalar loads.
#include "emulator/isa/semantics/control.h"
#include "emulator/isa/semantics/memory.h"
#include "emulator/isa/semantics/scalar.h"

DOPPEL_BEGIN_LEVEL

namespace {

/// Loads are dword aligned: the low two bits of the address are ignored.
struct scalar_load {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint32_t bytes = registers(D) * 4;
    const uint64_t va = (wave.pair(inst->saddr) + wave.s[inst->soffset] +
                         static_cast<uint64_t>(int64_t{static_cast<int32_t>(inst->literal)})) &
                        ~uint64_t{3};
    const std::byte* host = translate_scalar(wave, inst, va, bytes, emu::Access::Read);
    if (host == nullptr) return nullptr;
    std::memcpy(&wave.s[inst->sdst], host, bytes);
    return inst + 1;
  }

 private:
  static constexpr uint32_t registers(OperandType type) {
    return type == B32 ? 1 : type == B64 ? 2 : type == B128 ? 4 : type == B256 ? 8 : 16;
  }
};

}  // namespace

extern const RowHandler kSmem[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/smem.inc"
#undef INST
};

DOPPEL_END_LEVEL
