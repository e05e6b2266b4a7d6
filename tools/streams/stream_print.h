// Prints the packets of a walk: as indented text, or as JSON, one object a line.
#pragma once

#include <string>

#include "tools/streams/stream_walk.h"

namespace doppel::streams {

/// The packet's dump with offset, indentation by depth, problems and known kernel descriptors. With
/// `color`, ANSI colours.
std::string to_text(const Visit& visit, const WalkOptions& options, bool color);

/// {"offset":0,"depth":0,"language":"PM4","packet":"RELEASE_MEM","dwords":["c0064900",...],
///  "fields":{"event_type":{"value":20,"text":"CACHE_FLUSH_AND_INV_TS_EVENT"},...},
///  "problems":[{"severity":"error","kind":"Misaligned","dword":3,"message":"..."}],"skipped":0}
std::string to_json(const Visit& visit, const std::string& segment);

}  // namespace doppel::streams
