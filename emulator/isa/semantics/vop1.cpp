// VOP1.
#include "emulator/isa/semantics/carry.h"
#include "emulator/isa/semantics/float.h"
#include "emulator/isa/semantics/integer.h"
#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kVop1[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vop1.inc"
#undef INST
};

DOPPEL_END_LEVEL
