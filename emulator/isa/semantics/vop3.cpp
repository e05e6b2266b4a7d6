// VOP3.
#include "emulator/isa/semantics/carry.h"
#include "emulator/isa/semantics/convert.h"
#include "emulator/isa/semantics/cross_lane.h"
#include "emulator/isa/semantics/divide.h"
#include "emulator/isa/semantics/float.h"
#include "emulator/isa/semantics/integer.h"
#include "emulator/isa/semantics/lanes.h"
#include "emulator/isa/semantics/packed.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kVop3[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vop3.inc"
#undef INST
};

DOPPEL_END_LEVEL
