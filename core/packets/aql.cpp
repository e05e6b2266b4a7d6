#include "core/packets/aql.h"

#include <algorithm>
#include <iterator>

namespace doppel::aql {
namespace {

// clang-format off
#define PACKET(Type, ...) constexpr Field k##Type##Table[] = {
#define FIELD DOPPEL_FIELD_ROW
#define END(Type) };
#include "core/packets/aql.inc"
#undef PACKET
#undef FIELD
#undef END

constexpr PacketRow kRows[] = {
#define PACKET(Type, NAME, type, format, ...) \
  {#NAME, Language::Aql, type, format, length_columns(__VA_ARGS__), k##Type##Table, nullptr},
#define FIELD(...)
#define END(Type)
#include "core/packets/aql.inc"
#undef PACKET
#undef FIELD
#undef END
};
// clang-format on

}  // namespace

const PacketRow* find_row(uint32_t type, uint32_t amd_format) {
  const auto* row = std::ranges::find_if(kRows, [&](const PacketRow& candidate) {
    return candidate.opcode == type && candidate.sub_opcode == amd_format;
  });
  return row == std::end(kRows) ? nullptr : row;
}

std::span<const PacketRow> rows() {
  return kRows;
}

}  // namespace doppel::aql
