// VINTERP.
#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kVinterp[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vinterp.inc"
#undef INST
};

DOPPEL_END_LEVEL
