// The level's handler table.
#include "emulator/isa/semantics/row_shapes.h"

DOPPEL_BEGIN_LEVEL

extern const RowHandler kSop1[], kSop2[], kSopc[], kSopk[], kSopp[], kVopc[], kVop1[], kVop2[],
    kVop3p[], kVop3[], kVinterp[], kSmem[], kDs[], kFlat[], kScratch[], kGlobal[], kMubuf[],
    kMtbuf[];
extern const HandlerTable kWrappers;

const HandlerTable& handlers() {
  static const HandlerTable table = [] {
    HandlerTable all = kWrappers;
    const auto add = [&](Format format, const RowHandler* rows) {
      all.rows[static_cast<size_t>(format)] = {rows, rows_of(format).size()};
    };
    add(Format::SOP1, kSop1);
    add(Format::SOP2, kSop2);
    add(Format::SOPC, kSopc);
    add(Format::SOPK, kSopk);
    add(Format::SOPP, kSopp);
    add(Format::VOPC, kVopc);
    add(Format::VOP1, kVop1);
    add(Format::VOP2, kVop2);
    add(Format::VOP3P, kVop3p);
    add(Format::VOP3, kVop3);
    add(Format::VINTERP, kVinterp);
    add(Format::SMEM, kSmem);
    add(Format::DS, kDs);
    add(Format::FLAT, kFlat);
    add(Format::SCRATCH, kScratch);
    add(Format::GLOBAL, kGlobal);
    add(Format::MUBUF, kMubuf);
    add(Format::MTBUF, kMtbuf);
    return all;
  }();
  return table;
}

DOPPEL_END_LEVEL
