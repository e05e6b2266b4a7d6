// Reads packet streams from files: traces of `doppel record` (trace_streams.h) and `doppel run
// --trace` (trace_lines.h), raw little-endian dwords, other tools' dumps (foreign_dumps.h), or text
// with hexadecimal dwords such as logs of drivers and clients contain (stream_text.h).
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
#include "tools/streams/known_memory.h"

namespace doppel::streams {

/// Dwords that belong together: a ring, an indirect buffer, a queue's lines in a log, a golden
/// case.
struct Segment {
  std::string label = {};  // "" for a whole file
  packets::Language language = packets::Language::Pm4;
  std::optional<GfxFamily> family = {};  // if the text says it
  std::vector<uint32_t> dwords = {};
  std::optional<uint64_t> address = {};  // of the first dword, if the text says it
  KnownMemory memory = {};               // what its packets refer to, if the file holds it
};

/// The segments of a file; `language` is that of dwords which name none. Malformed if raw bytes are
/// no whole number of dwords, if text has no dwords at all, or if a trace is damaged.
Result<std::vector<Segment>> parse_segments(std::span<const std::byte> bytes,
                                            packets::Language language, AddressNames& names);

}  // namespace doppel::streams
