// Packet streams as text. A dword is a word of exactly eight hexadecimal digits, or one that starts
// with 0x. On each line dwords are taken from its first run of them; what comes before (an offset
// with a colon, a label) and behind (symbolic fields) is skipped, so that a dump reads back.
//
// Segments are told apart in two ways:
//   pm4 q0 ring c0004600 00000407       a log: the line's language, a label, dwords; lines that
//   start
//                                       with none of pm4, sdma, aql are skipped then
//   == memory_barrier (PM4, gfx11)      golden text: the lines below, up to the next such head
//
// In golden text @lo and @hi stand for the dwords of an address that is named on the same line. '#'
// starts a comment.
#pragma once

#include <string_view>
#include <vector>

#include "tools/streams/stream_file.h"

namespace doppel::streams {

/// The segments that have dwords; consecutive ones with the same label are one.
std::vector<Segment> parse_text(std::string_view text, packets::Language language,
                                AddressNames& names);

}  // namespace doppel::streams
