// DS: the local data share.
#include "emulator/isa/semantics/ds_cross_lane.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kDs[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/ds.inc"
#undef INST
};

DOPPEL_END_LEVEL
