// The packets of `doppel run --trace`: one JSON object a line.
#pragma once

#include <string_view>
#include <vector>

#include "tools/streams/stream_file.h"

namespace doppel::streams {

/// A segment for each queue and language; none if the text has no such packets.
std::vector<Segment> parse_trace_lines(std::string_view text);

}  // namespace doppel::streams
