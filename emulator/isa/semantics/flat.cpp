// FLAT, GLOBAL and SCRATCH.
#include "emulator/isa/semantics/memory_atomics.h"

DOPPEL_BEGIN_LEVEL

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
