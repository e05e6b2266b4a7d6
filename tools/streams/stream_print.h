// Prints the packets of a walk: as indented text, or as JSON, one object a line.
#pragma once

#include <string>

#include "core/packets/dump.h"
#include "tools/streams/stream_walk.h"

namespace doppel::streams {

/// Writes packets as text, reusing its buffers. Not thread-safe.
class TextPrinter {
 public:
  /// With `color`, ANSI colours. The options must outlive the printer.
  TextPrinter(const WalkOptions& options, bool color);

  /// Appends the packet's dump with offset, indentation by depth, problems and what is known of the
  /// kernel it launches.
  void append(std::string& out, const Visit& visit);

 private:
  void append_flat(std::string& out, const Visit& visit);

  const WalkOptions& options_;
  bool color_;
  packets::Dumper dumper_;
  std::string text_;
};

/// {"offset":0,"depth":0,"language":"PM4","packet":"RELEASE_MEM","dwords":["c0064900",...],
///  "fields":{"event_type":{"value":20,"text":"CACHE_FLUSH_AND_INV_TS_EVENT"},...},
///  "problems":[{"severity":"error","kind":"Misaligned","dword":3,"message":"..."}],"skipped":0}
std::string to_json(const Visit& visit, const std::string& segment);

}  // namespace doppel::streams
