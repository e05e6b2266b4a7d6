// What is wrong inside a well-formed packet, found by walking its row: reserved bits, enumeration
// values without a name, misaligned addresses.
#pragma once

#include <vector>

#include "core/packets/packet.h"

namespace doppel::packets {

/// Appends every problem of the packet, its structural error included.
void validate(const Packet& packet, std::vector<Problem>& problems);

std::vector<Problem> validate(const Packet& packet);

/// Whether validate would find nothing; does not allocate for a packet without an error.
bool is_valid(const Packet& packet);

/// Whether the field exists in this packet: in its family, within its dwords, in its variant.
bool has_field(const Packet& packet, const Field& field);

/// The field's value; 0 if the packet does not have it.
uint64_t field_value(const Packet& packet, const Field& field);

}  // namespace doppel::packets
