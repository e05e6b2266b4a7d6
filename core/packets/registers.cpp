#include "core/packets/registers.h"

#include <algorithm>
#include <iterator>

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

enum Index : size_t {
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

const RegisterRow* find_register(uint32_t address, GfxFamily family) {
  const auto* row = std::ranges::find_if(kRows, [&](const RegisterRow& candidate) {
    return address != 0 && candidate.in(family) == address;
  });
  return row == std::end(kRows) ? nullptr : row;
}

const RegisterRow* find_register(std::string_view name) {
  const auto* row = std::ranges::find(kRows, name, &RegisterRow::name);
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace doppel::regs
