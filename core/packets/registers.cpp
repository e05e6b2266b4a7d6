#include "core/packets/registers.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace doppel::regs {
namespace {

// clang-format off
#define REG(Type, ...) constexpr Field k##Type##Table[] = {
#define FIELD DOPPEL_FIELD_ROW
#define END(Type) };
#include "core/packets/registers.inc"
#undef REG
#undef FIELD
#undef END

enum RowIndex : size_t {
#define REG(Type, ...) k##Type##Index,
#define FIELD(...)
#define END(Type)
#include "core/packets/registers.inc"
#undef REG
#undef FIELD
#undef END
};

constexpr RegisterRow kRows[] = {
#define REG(Type, NAME, ...) {#NAME, {__VA_ARGS__}, k##Type##Table},
#define FIELD(...)
#define END(Type)
#include "core/packets/registers.inc"
#undef REG
#undef FIELD
#undef END
};

}  // namespace

#define REG(Type, NAME, ...) const RegisterRow& NAME = kRows[k##Type##Index];
#define FIELD(...)
#define END(Type)
#include "core/packets/registers.inc"
#undef REG
#undef FIELD
#undef END
// clang-format on

std::span<const RegisterRow> rows() {
  return kRows;
}

namespace {

/// The rows that a family has, at their addresses; and all rows, by name. Of rows with one address
/// the first counts.
struct Index {
  std::array<std::vector<const RegisterRow*>, kFamilyColumns> by_address;
  std::vector<const RegisterRow*> by_name;

  Index() {
    for (const RegisterRow& row : kRows) {
      by_name.push_back(&row);
      for (size_t column = 0; column < kFamilyColumns; ++column) place(row, column);
    }
    std::ranges::sort(by_name, {}, &RegisterRow::name);
  }

  void place(const RegisterRow& row, size_t column) {
    const uint32_t address = row.address[column];
    if (address == 0) return;
    std::vector<const RegisterRow*>& rows = by_address[column];
    if (rows.size() <= address) rows.resize(address + 1);
    if (rows[address] == nullptr) rows[address] = &row;
  }
};

const Index& index() {
  static const Index index;
  return index;
}

}  // namespace

const RegisterRow* find_register(uint32_t address, GfxFamily family) {
  const auto& rows = index().by_address[family_column(family)];
  return address < rows.size() ? rows[address] : nullptr;
}

const RegisterRow* find_register(std::string_view name) {
  const auto& rows = index().by_name;
  const auto row = std::ranges::lower_bound(rows, name, {}, &RegisterRow::name);
  return row == rows.end() || (*row)->name != name ? nullptr : *row;
}

}  // namespace doppel::regs
