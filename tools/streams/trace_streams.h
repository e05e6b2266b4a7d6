// The submissions of a trace file (`doppel record`), as they were in their rings.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/status.h"
#include "tools/streams/stream_file.h"

namespace doppel::streams {

/// Whether these are the bytes of a trace file, whole or not.
bool is_trace(std::span<const std::byte> bytes);

/// A segment for each submission, with the indirect buffers and kernel objects that it refers to as
/// they were then. Malformed or Unsupported as TraceReader says it.
Result<std::vector<Segment>> parse_trace(std::span<const std::byte> bytes);

}  // namespace doppel::streams
