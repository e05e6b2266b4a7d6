// VOP3P.
#include "emulator/isa/semantics/lanes.h"
#include "emulator/isa/semantics/packed.h"
#include "emulator/isa/semantics/wmma.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kVop3p[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/vop3p.inc"
#undef INST
};

DOPPEL_END_LEVEL
