// SOP1, SOP2, SOPC, SOPK and SOPP.
#include "emulator/isa/semantics/control.h"
#include "emulator/isa/semantics/scalar_alu.h"
#include "emulator/isa/semantics/scalar_float.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kSop1[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/sop1.inc"
#undef INST
};
extern const RowHandler kSop2[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/sop2.inc"
#undef INST
};
extern const RowHandler kSopc[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/sopc.inc"
#undef INST
};
extern const RowHandler kSopk[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/sopk.inc"
#undef INST
};
extern const RowHandler kSopp[] = {
#define INST DOPPEL_ROW_HANDLER
#include "emulator/isa/tables/sopp.inc"
#undef INST
};

DOPPEL_END_LEVEL
