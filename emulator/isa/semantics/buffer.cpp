// MUBUF and MTBUF: memory through buffer resources.
#include "emulator/isa/semantics/typed_buffer.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kMubuf[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/mubuf.inc"
#undef INST
};
extern const RowHandler kMtbuf[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/mtbuf.inc"
#undef INST
};

DOPPEL_END_LEVEL
