// Packet streams as other tools print them:
//
//   umr        navi31.comp_1.0.0.ring[  12] == 0xc0053c00   .w.      its rings
//              Decoding IB at 0x1@0x100000000 from 0x0@0x191c of 16 words (type 4)
//              [0x1@0x100000000 + 0x0004]  [  0x00000014]  |---> ...
//                                                        its decoded rings and indirect buffers;
//                                                        what is decoded in bytes and words (AQL)
//                                                        too
//   ROCm       SWq=0x.., HWq=0x.., id=1, Dispatch Header = 0xb02 (type=2, ...), setup=3,
//   grid=[..]...
//                                                        AMD_LOG_LEVEL=4 of HIP: dispatches and
//                                                        barriers; the packets are put together
//                                                        again from their fields
//   Python     [3221504256, 1031] or ['0xc0004600', '0x407'], one list a line: tinygrad's queues as
//              print() shows them
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/streams/stream_file.h"

namespace doppel::streams {

/// The segments of such text, all with dwords; none if it is no such text.
std::vector<Segment> parse_foreign_dump(std::string_view text, packets::Language language);

// Each of them alone.
std::vector<Segment> parse_umr_buffers(std::string_view text, packets::Language language);
std::vector<Segment> parse_umr_rings(std::string_view text, packets::Language language);
std::vector<Segment> parse_hip_log(std::string_view text);
/// Only if there are lists and nothing else.
std::vector<Segment> parse_python_lists(std::string_view text, packets::Language language);

/// Text without the escape sequences that colour it.
std::string without_colors(std::string_view text);

}  // namespace doppel::streams
