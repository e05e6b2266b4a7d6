// Semantic difference of two packet streams: packets are matched in order, and of a matched pair
// the fields that changed are named. Equal streams give an empty difference, wherever things lie in
// memory if both name their addresses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/packets/dump.h"

namespace doppel::streams {

/// One difference, in the order of the streams.
struct Difference {
  enum class Kind { Added, Removed, Changed };
  Kind kind = Kind::Changed;
  size_t before = 0;  // offset in the old stream, dwords
  size_t after = 0;   // in the new one
  std::string packet;
  std::vector<std::string> fields;  // "address: signal+0x8 -> signal+0x10"
};

/// A packet with what a difference shows of it.
struct ComparedPacket {
  size_t offset = 0;
  std::string name;  // with the first register of a register write
  std::vector<uint32_t> dwords;
  std::vector<std::pair<std::string, std::string>> fields;  // name, value
};

std::vector<ComparedPacket> compared_packets(packets::Language language,
                                             std::span<const uint32_t> stream, GfxFamily family,
                                             const packets::DumpOptions& options);

std::vector<Difference> diff(std::span<const ComparedPacket> before,
                             std::span<const ComparedPacket> after);

/// As text: '-', '+' or '!' , offsets, the packet, and its changed fields below.
std::string to_text(std::span<const Difference> differences);

}  // namespace doppel::streams
