// Random well-formed packets of any row, and their re-encoding through the typed accessors.
#pragma once

#include <cstdint>
#include <vector>

#include "core/packets/packet.h"
#include "core/packets/registers.h"
#include "core/packets/validate.h"
#include "core/prng.h"

namespace doppel::test {

/// A value that validate() accepts for the field.
inline uint64_t random_value(const packets::Field& field, const packets::FieldLocation& location,
                             GfxFamily family, Prng& prng) {
  if (field.kind == packets::FieldKind::Enum) {
    return field.values[prng.below(field.values.size())].value;
  }
  uint64_t value = prng.next() & location.max();
  if (field.kind == packets::FieldKind::RegisterValue) {
    uint64_t known = 0;
    for (const packets::Field& part : regs::find_register(field.register_name)->fields) {
      known |= part.columns.in(family).mask;
    }
    value &= known;
  }
  return value - value % field.align;
}

/// Whether the field is of the packet's header, which says what the packet is: builders write it.
inline bool is_header(const packets::Field& field, const packets::FieldLocation& location) {
  return location.dword == 0 && (field.name == "sub_op" || field.name == "predicate" ||
                                 field.name == "shader_type" || field.name == "reset_filter_cam");
}

/// A packet of the row with every field that it has at random; selectors first, so that the fields
/// which depend on them fit. `tries` of SDMA's counts are small.
inline std::vector<uint32_t> random_packet(const packets::PacketRow& row, GfxFamily family,
                                           Prng& prng) {
  using namespace packets;
  const Length& length = row.length.in(family);
  const bool open = length.max == kUnbounded;
  std::vector<uint32_t> dwords(open ? length.fixed() : (prng.below(2) ? length.min : length.max));
  auto fill = [&](bool conditional) {
    for (const Field& field : row.fields) {
      const FieldLocation& location = field.columns.in(family);
      if (!location.present() || is_header(field, location) ||
          location.end_dword() > dwords.size() || (field.applies != nullptr) != conditional ||
          (field.applies && !field.applies(dwords, family))) {
        continue;
      }
      location.deposit(dwords.data(), random_value(field, location, family, prng));
    }
  };
  fill(false);
  fill(true);
  size_t payload = 0;
  switch (row.language) {
    case Language::Pm4:
      payload = open ? length.min - length.fixed() + prng.below(20) : 0;
      dwords[0] = pm4::type3_header(row.opcode, dwords.size() + payload);
      break;
    case Language::Sdma: {
      dwords[0] = (dwords[0] & ~0xffffu) | row.opcode | row.sub_opcode << 8u;
      for (const Field& field : row.fields) {  // a count of payload dwords
        if (!open || field.name != "count") continue;
        field.columns.in(family).deposit(dwords.data(), prng.below(20));
      }
      const std::vector<uint32_t> fixed(dwords.begin(), dwords.begin() + length.fixed());
      payload = row.payload_dwords(fixed, family);
      dwords.resize(length.fixed());
      break;
    }
    case Language::Aql:
      dwords[0] = (dwords[0] & ~0xffu) | row.opcode;
      if (row.opcode == 0) dwords[0] = (dwords[0] & 0xffff) | row.sub_opcode << 16u;
      break;
  }
  for (size_t i = 0; i < payload; ++i) dwords.push_back(static_cast<uint32_t>(prng.next()));
  return dwords;
}

namespace detail {

template <class Builder>
std::vector<uint32_t> finish(const Builder& builder) {
  std::vector<uint32_t> dwords(builder.dwords().begin(), builder.dwords().end());
  dwords.insert(dwords.end(), builder.payload().begin(), builder.payload().end());
  return dwords;
}

inline size_t fixed_dwords(const packets::Packet& packet) {
  return packet.dwords.size() - packet.payload().size();
}

// clang-format off
#define FIELD(name, ...) built.name(p.name());
#define FIELD_IF(name, Type, c0, c1, c2, c3, ...) if (__VA_ARGS__) built.name(p.name());
#define PAYLOAD(...)
#define END(Type) return finish(built); }

namespace pm4_rebuild {
using namespace pm4;
#define PACKET(Type, ...)                                                        \
  inline std::vector<uint32_t> rebuild([[maybe_unused]] pm4::Type::View p, const Packet& packet) { \
    pm4::Type built(packet.family, fixed_dwords(packet));                         \
    built.payload(packet.payload());
#include "core/packets/pm4.inc"
#undef PACKET
}  // namespace pm4_rebuild

namespace sdma_rebuild {
using namespace sdma;
#define PACKET(Type, ...)                                                         \
  inline std::vector<uint32_t> rebuild(sdma::Type::View p, const Packet& packet) { \
    sdma::Type built(packet.family, fixed_dwords(packet));                         \
    built.payload(packet.payload());
#include "core/packets/sdma.inc"
#undef PACKET
}  // namespace sdma_rebuild

namespace aql_rebuild {
using namespace aql;
#define PACKET(Type, ...)                                                 \
  inline std::vector<uint32_t> rebuild(aql::Type::View p, const Packet& packet) { \
    aql::Type built(packet.family);
#include "core/packets/aql.inc"
#undef PACKET
}  // namespace aql_rebuild

#undef FIELD
#undef FIELD_IF
#undef PAYLOAD
#undef END

#define FIELD(...)
#define FIELD_IF(...)
#define PAYLOAD(...)
#define END(Type)

}  // namespace detail

/// The packet's dwords again, through its getters and the builder's setters.
inline std::vector<uint32_t> rebuild(const packets::Packet& packet) {
  switch (packet.pm4_id()) {
#define PACKET(Type, ...) \
  case pm4::Id::Type: return detail::pm4_rebuild::rebuild(packet.as<pm4::Type>(), packet);
#include "core/packets/pm4.inc"
#undef PACKET
    case pm4::Id::Unknown: break;
  }
  switch (packet.sdma_id()) {
#define PACKET(Type, ...) \
  case sdma::Id::Type: return detail::sdma_rebuild::rebuild(packet.as<sdma::Type>(), packet);
#include "core/packets/sdma.inc"
#undef PACKET
    case sdma::Id::Unknown: break;
  }
  switch (packet.aql_id()) {
#define PACKET(Type, ...) \
  case aql::Id::Type: return detail::aql_rebuild::rebuild(packet.as<aql::Type>(), packet);
#include "core/packets/aql.inc"
#undef PACKET
    case aql::Id::Unknown: break;
  }
  return {};
}
// clang-format on
#undef FIELD
#undef FIELD_IF
#undef PAYLOAD
#undef END

}  // namespace doppel::test
