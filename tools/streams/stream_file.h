// Reads packet streams from files: raw little-endian dwords, or text with hexadecimal dwords such
// as logs of drivers and clients contain.
//
// Text: a dword is a word of exactly eight hexadecimal digits, or one that starts with 0x. On each
// line dwords are taken from its first run of them; what comes before (an offset with a colon, a
// label) and behind (symbolic fields) is skipped, so that a dump of ours reads back. A line that
// starts with pm4, sdma or aql gives its dwords that language, and a label up to the first dword.
// '#' starts a comment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/packets/row.h"
#include "core/status.h"

namespace doppel::streams {

/// Dwords that belong together: a ring, an indirect buffer, one line of a log.
struct Segment {
  std::string label;  // "" for a whole file
  packets::Language language = packets::Language::Pm4;
  std::vector<uint32_t> dwords;
};

/// The segments of a file; `language` is that of dwords which name none. Malformed if raw bytes are
/// no whole number of dwords, or if text has no dwords at all.
Result<std::vector<Segment>> parse_segments(std::span<const std::byte> bytes,
                                            packets::Language language);

/// The whole file; NotFound or System if it cannot be read.
Result<std::vector<std::byte>> read_file(const std::string& path);

}  // namespace doppel::streams
