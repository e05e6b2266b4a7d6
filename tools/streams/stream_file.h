// Reads packet streams from files: raw little-endian dwords, or text with hexadecimal dwords such
// as logs of drivers and clients contain (see stream_text.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/packets/row.h"
#include "core/status.h"
#include "tools/streams/address_names.h"

namespace doppel::streams {

/// Dwords that belong together: a ring, an indirect buffer, a queue's lines in a log, a golden
/// case.
struct Segment {
  std::string label;  // "" for a whole file
  packets::Language language = packets::Language::Pm4;
  std::optional<GfxFamily> family;  // if the text says it
  std::vector<uint32_t> dwords;
};

/// The segments of a file; `language` is that of dwords which name none. Malformed if raw bytes are
/// no whole number of dwords, or if text has no dwords at all.
Result<std::vector<Segment>> parse_segments(std::span<const std::byte> bytes,
                                            packets::Language language, AddressNames& names);

/// The whole file; NotFound or System if it cannot be read.
Result<std::vector<std::byte>> read_file(const std::string& path);

}  // namespace doppel::streams
