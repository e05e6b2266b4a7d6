#include "tools/streams/foreign_dumps.h"

#include <algorithm>

#include "tools/streams/text_scan.h"

namespace doppel::streams {

std::string without_colors(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const size_t escape = std::min(text.find('\033'), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(escape);
    if (!take(text, "\033")) break;
    if (take(text, "[")) {
      text.remove_prefix(std::min(text.find_first_not_of("0123456789;"), text.size()));
      if (!text.empty()) text.remove_prefix(1);
    }
  }
  return plain;
}

std::vector<Segment> parse_foreign_dump(std::string_view text, packets::Language language) {
  std::vector<Segment> segments = parse_umr_buffers(text, language);
  if (segments.empty()) segments = parse_umr_rings(text, language);
  if (segments.empty()) segments = parse_hip_log(text);
  if (segments.empty()) segments = parse_python_lists(text, language);
  return segments;
}

}  // namespace doppel::streams
