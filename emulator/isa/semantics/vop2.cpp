// VOP2.
#include "emulator/isa/semantics/carry.h"
#include "emulator/isa/semantics/convert.h"
#include "emulator/isa/semantics/float.h"
#include "emulator/isa/semantics/integer.h"
#include "emulator/isa/semantics/lanes.h"
#include "emulator/isa/semantics/packed.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kVop2[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vop2.inc"
#undef INST
};

DOPPEL_END_LEVEL
