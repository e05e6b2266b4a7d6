// The addresses that a packet holds: those of its fields, and pairs of payload dwords that may be
// some (the values of SET_SH_REG: a program, or a pointer in user data).
#pragma once

#include <cstdint>

#include "core/packets/packet.h"
#include "core/packets/pm4.h"
#include "core/packets/validate.h"

namespace doppel::verify {

/// Whether `matches(address)` holds for any of them.
template <class Match>
bool names_address(const packets::Packet& packet, Match&& matches) {
  if (packet.row == nullptr || !packet.ok()) return false;
  for (const packets::Field& field : packet.row->fields) {
    if (field.kind != packets::FieldKind::Address) continue;
    if (!field.columns.in(packet.family).present()) continue;
    if (field.applies != nullptr && !field.applies(packet.dwords, packet.family)) continue;
    if (matches(packets::field_value(packet, field))) return true;
  }
  if (packet.pm4_id() != pm4::Id::SetShReg) return false;
  constexpr uint32_t kProgramShift = 8;              // COMPUTE_PGM_LO counts 256-byte blocks
  constexpr uint64_t kAddressBits = 0xffffffffffff;  // a buffer descriptor has flags above
  const auto values = packet.payload();
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const uint64_t pair = values[i] | uint64_t{values[i + 1]} << 32;
    if (matches(pair & kAddressBits) || matches(pair << kProgramShift)) return true;
  }
  return false;
}

}  // namespace doppel::verify
