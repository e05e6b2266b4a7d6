#include "emulator/isa/row.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace doppel::isa {
namespace {

/// "_" in a row.
struct Absent {
  constexpr operator int16_t() const { return kAbsent; }
  constexpr operator OperandType() const { return OperandType::None; }
};

namespace row_columns {
constexpr Absent _;
using enum OperandType;

constexpr Row kRows[] = {
#define INST(table, name, gfx10_name, op10, op11, op11_5, dst, src0, src1, src2, flags, semantics, \
             fidelity)                                                                             \
  Row{#name,                                                                                       \
      std::string_view(#gfx10_name) == "_" ? std::string_view(#name)                               \
                                           : std::string_view(#gfx10_name),                        \
      {op10, op11, op11_5},                                                                        \
      flags,                                                                                       \
      Format::table,                                                                               \
      dst,                                                                                         \
      {src0, src1, src2},                                                                          \
      Fidelity::fidelity},
#include "emulator/isa/tables/all.inc"
#undef INST
};
}  // namespace row_columns

using row_columns::kRows;

constexpr std::array kRdnaFamilies = {GfxFamily::Gfx10_3, GfxFamily::Gfx11, GfxFamily::Gfx11_5};
constexpr size_t kOpcodeSpace = 1024;

constexpr int column_of(GfxFamily family) {
  switch (family) {
    case GfxFamily::Gfx10_3:
      return 0;
    case GfxFamily::Gfx11:
      return 1;
    case GfxFamily::Gfx11_5:
      return 2;
    default:
      return -1;
  }
}

/// Where a 32-bit vector format's opcodes begin in the VOP3 encoding (RDNA3 ISA manual, "VOP3").
constexpr uint32_t vop3_base(Format format) {
  switch (format) {
    case Format::VOP1:
      return 0x180;
    case Format::VOP2:
      return 0x100;
    default:
      return 0;
  }
}

/// Opcode -> row, per family and format.
class Index {
 public:
  Index() {
    for (size_t family = 0; family < kRdnaFamilies.size(); ++family) {
      for (const Row& row : kRows) add(family, row);
    }
  }
  const Row* find(int family, Format format, uint32_t opcode) const {
    if (family < 0 || opcode >= kOpcodeSpace) return nullptr;
    return table_[static_cast<size_t>(family)][static_cast<size_t>(format)][opcode];
  }

 private:
  void add(size_t family, const Row& row) {
    const int16_t opcode = row.opcode[family];
    if (opcode == kAbsent) return;
    const bool short_form =
        row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
    const auto number = static_cast<uint32_t>(opcode);
    const bool sdst_form = row.format == Format::VOP3 && row.has(CarryOut);
    if (!row.has(NoE32) && !sdst_form)
      table_[family][static_cast<size_t>(row.format)][number] = &row;
    if (!short_form && row.format != Format::VOP3) return;
    if (row.has(NoE64)) return;
    const Format wide = row.has(CarryOut) ? Format::VOP3SD : Format::VOP3;
    table_[family][static_cast<size_t>(wide)][number + vop3_base(row.format)] = &row;
  }

  std::array<std::array<std::array<const Row*, kOpcodeSpace>, kFormatCount>, 3> table_{};
};

const Index& index() {
  static const Index instance;
  return instance;
}

}  // namespace

std::string_view to_string(Fidelity fidelity) {
  constexpr std::array<std::string_view, 4> kNames = {"hardware", "specification", "approximate",
                                                      "none"};
  return kNames[static_cast<size_t>(fidelity)];
}

int16_t Row::opcode_in(GfxFamily family) const {
  const int column = column_of(family);
  return column < 0 ? kAbsent : opcode[static_cast<size_t>(column)];
}

uint32_t Row::sources() const {
  uint32_t count = 0;
  while (count < src.size() && src[count] != OperandType::None) ++count;
  return count;
}

std::span<const Row> all_rows() {
  return kRows;
}

std::span<const Row> rows_of(Format table) {
  const auto [first, last] = std::ranges::equal_range(
      kRows, table, [](Format a, Format b) { return static_cast<int>(a) < static_cast<int>(b); },
      &Row::format);
  return {first, last};
}

uint32_t index_of(const Row& row) {
  return static_cast<uint32_t>(&row - kRows);
}

const Row* find_row(GfxFamily family, Format format, uint32_t opcode) {
  return index().find(column_of(family), format, opcode);
}

const Row* find_row(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &Row::name);
  return row == std::end(kRows) ? nullptr : &*row;
}

}  // namespace doppel::isa
