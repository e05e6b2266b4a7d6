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

/// The rows that a family has, by address; and all rows, by name.
struct Index {
  std::array<std::vector<const RegisterRow*>, kFamilyColumns> by_address;
  std::vector<const RegisterRow*> by_name;

  Index() {
    for (const RegisterRow& row : kRows) {
      by_name.push_back(&row);
      for (size_t column = 0; column < kFamilyColumns; ++column) {
        if (row.address[column] != 0) by_address[column].push_back(&row);
      }
    }
    std::ranges::sort(by_name, {}, &RegisterRow::name);
    for (size_t column = 0; column < kFamilyColumns; ++column) {
      std::ranges::stable_sort(by_address[column], {},
                               [column](const RegisterRow* row) { return row->address[column]; });
    }
  }
};

const Index& index() {
  static const Index index;
  return index;
}

}  // namespace

const RegisterRow* find_register(uint32_t address, GfxFamily family) {
  const auto& rows = index().by_address[family_column(family)];
  const auto row = std::ranges::lower_bound(
      rows, address, {}, [family](const RegisterRow* each) { return each->in(family); });
  return row == rows.end() || (*row)->in(family) != address ? nullptr : *row;
}

const RegisterRow* find_register(std::string_view name) {
  const auto& rows = index().by_name;
  const auto row = std::ranges::lower_bound(rows, name, {}, &RegisterRow::name);
  return row == rows.end() || (*row)->name != name ? nullptr : *row;
}

}  // namespace doppel::regs
