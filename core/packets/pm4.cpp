#include "core/packets/pm4.h"

#include <algorithm>
#include <array>

namespace doppel::pm4 {
namespace {

// Bits that every type-3 header has; RESET_FILTER_CAM came with gfx10 (AMD PAL's pm4 headers).
#define PM4_HEADER_FIELDS                                            \
  DOPPEL_FIELD_ROW(predicate, Flag, "0[0]", "0[0]", "0[0]", "0[0]")  \
  DOPPEL_FIELD_ROW(shader_type, U32, "0[1]", "0[1]", "0[1]", "0[1]") \
  DOPPEL_FIELD_ROW(reset_filter_cam, Flag, "-", "0[2]", "0[2]", "0[2]")

// clang-format off
#define PACKET(Type, ...) namespace Type##_table { using Packet = Type; \
                          constexpr Field kFields[] = { PM4_HEADER_FIELDS
#define FIELD DOPPEL_FIELD_ROW
#define FIELD_IF(name, Type, c0, c1, c2, c3, ...) \
  DOPPEL_FIELD_ROW_IF(Packet, name, Type, c0, c1, c2, c3, (__VA_ARGS__))
#define END(Type) }; }
#include "core/packets/pm4.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef END

constexpr PacketRow kRows[] = {
#define PACKET(Type, NAME, code, ...) \
  {#NAME, Language::Pm4, code, 0, length_columns(__VA_ARGS__), Type##_table::kFields, nullptr},
#define FIELD(...)
#define FIELD_IF(...)
#define END(Type)
#include "core/packets/pm4.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef END
};
// clang-format on

constexpr std::array<uint8_t, 256> kRowOfOpcode = [] {
  std::array<uint8_t, 256> index{};
  index.fill(static_cast<uint8_t>(Id::Unknown));
  for (size_t row = 0; row < std::size(kRows); ++row) {
    index[kRows[row].opcode] = static_cast<uint8_t>(row);
  }
  return index;
}();

}  // namespace

const PacketRow* find_row(uint32_t opcode) {
  const uint8_t row = opcode < 256 ? kRowOfOpcode[opcode] : static_cast<uint8_t>(Id::Unknown);
  return row == static_cast<uint8_t>(Id::Unknown) ? nullptr : &kRows[row];
}

std::span<const PacketRow> rows() {
  return kRows;
}

std::string_view opcode_name(uint32_t opcode, GfxFamily family) {
  struct Named {
    uint32_t code;
    std::string_view name;
    bool gfx9, gfx10_up;
  };
  static constexpr Named kNames[] = {
#define OPCODE(code, name, gfx9, gfx10_up) {code, #name, gfx9, gfx10_up},
#include "core/packets/pm4_opcodes.inc"
#undef OPCODE
  };
  const bool gfx9 = family == GfxFamily::Gfx9_4;
  const auto* row = std::ranges::find_if(kNames, [&](const Named& named) {
    return named.code == opcode && (gfx9 ? named.gfx9 : named.gfx10_up);
  });
  return row == std::end(kNames) ? std::string_view{} : row->name;
}

}  // namespace doppel::pm4
