// VOPC.
#include "emulator/isa/semantics/carry.h"
#include "emulator/isa/semantics/float.h"
#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kVopc[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vopc.inc"
#undef INST
};

DOPPEL_END_LEVEL
