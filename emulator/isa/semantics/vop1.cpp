// VOP1.
#include "emulator/isa/semantics/convert.h"
#include "emulator/isa/semantics/cross_lane.h"
#include "emulator/isa/semantics/float.h"
#include "emulator/isa/semantics/integer.h"
#include "emulator/isa/semantics/lanes.h"
#include "emulator/isa/semantics/transcendental.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kVop1[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vop1.inc"
#undef INST
};

DOPPEL_END_LEVEL
