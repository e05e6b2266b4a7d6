// SMEM: scalar loads.
#include "emulator/isa/semantics/scalar_memory.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kSmem[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/smem.inc"
#undef INST
};

DOPPEL_END_LEVEL
