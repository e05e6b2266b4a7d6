#include "core/packets/sdma.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace doppel::sdma {
namespace {

// Every table starts with the sub-op, which the header holds: no table is empty then.
#define SDMA_HEADER_FIELDS DOPPEL_FIELD_ROW(sub_op, U32, "0[15:8]", "0[15:8]", "0[15:8]", "0[15:8]")

// clang-format off
#define PACKET(Type, ...) namespace Type##_table { using Packet = Type; \
                          constexpr Field kFields[] = { SDMA_HEADER_FIELDS
#define FIELD DOPPEL_FIELD_ROW
#define FIELD_IF(name, Type, c0, c1, c2, c3, ...) \
  DOPPEL_FIELD_ROW_IF(Packet, name, Type, c0, c1, c2, c3, (__VA_ARGS__))
#define PAYLOAD(...)
#define END(Type) }; }
#include "core/packets/sdma.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef PAYLOAD
#undef END

constexpr PacketRow kRows[] = {
#define PACKET(Type, NAME, op, sub, ...)                                            \
  {#NAME, Language::Sdma, op, sub, length_columns(__VA_ARGS__), Type##_table::kFields, \
   [](std::span<const uint32_t> dwords, GfxFamily family) {                         \
     return Type::view(dwords, family).payload_dwords();                            \
   }},
#define FIELD(...)
#define FIELD_IF(...)
#define PAYLOAD(...)
#define END(Type)
#include "core/packets/sdma.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef PAYLOAD
#undef END
};
// clang-format on

}  // namespace

const PacketRow* find_row(uint32_t op, uint32_t sub_op) {
  // GCR_REQ comes with sub-op 0 from some clients and with SDMA_SUBOP_USER_GCR from ROCr; the
  // packet is the same.
  constexpr uint32_t kGcrReq = 17;
  constexpr uint32_t kUserGcr = 1;
  if (op == kGcrReq && sub_op == kUserGcr) sub_op = 0;
  const auto* row = std::ranges::find_if(kRows, [&](const PacketRow& candidate) {
    return candidate.opcode == op && candidate.sub_opcode == sub_op;
  });
  return row == std::end(kRows) ? nullptr : row;
}

std::span<const PacketRow> rows() {
  return kRows;
}

std::string_view op_name(uint32_t op) {
  // SDMA_OP_* of the kernel's sdma_v6_0_0_pkt_open.h.
  static constexpr EnumValue kOps[] = {
      {"NOP", 0},         {"COPY", 1},     {"WRITE", 2},       {"INDIRECT", 4},    {"FENCE", 5},
      {"TRAP", 6},        {"SEM", 7},      {"POLL_REGMEM", 8}, {"COND_EXE", 9},    {"ATOMIC", 10},
      {"CONST_FILL", 11}, {"PTEPDE", 12},  {"TIMESTAMP", 13},  {"SRBM_WRITE", 14}, {"PRE_EXE", 15},
      {"GPUVM_INV", 16},  {"GCR_REQ", 17}, {"DUMMY_TRAP", 32}};
  const auto* row = std::ranges::find(kOps, op, &EnumValue::value);
  return row == std::end(kOps) ? std::string_view{} : row->name;
}

}  // namespace doppel::sdma
