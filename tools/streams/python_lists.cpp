#include "tools/streams/foreign_dumps.h"

#include <string>

#include <fmt/format.h>

#include "tools/streams/text_scan.h"

namespace doppel::streams {
namespace {

/// The dwords of "[3221504256, 1031]"; nothing if the line is no list of such.
std::optional<std::vector<uint32_t>> parse_list(std::string_view line) {
  line = trim(line);
  if (!take(line, "[") || !line.ends_with(']')) return std::nullopt;
  line.remove_suffix(1);
  std::vector<uint32_t> dwords;
  while (!line.empty()) {
    skip_blanks(line);
    const bool quoted = take(line, "'") || take(line, "\"");
    const auto value = take_number(line);
    if (!value || *value > 0xffff'ffff) return std::nullopt;
    if (quoted && !take(line, "'") && !take(line, "\"")) return std::nullopt;
    dwords.push_back(static_cast<uint32_t>(*value));
    skip_blanks(line);
    if (!line.empty() && !take(line, ",")) return std::nullopt;
  }
  if (dwords.empty()) return std::nullopt;
  return dwords;
}

}  // namespace

/// Only if there are lists and nothing else.
std::vector<Segment> parse_python_lists(std::string_view text, packets::Language language) {
  std::vector<Segment> segments;
  bool only_lists = true;
  for_each_line(text, [&](std::string_view line) {
    if (trim(line).empty()) return;
    auto dwords = parse_list(line);
    only_lists &= dwords.has_value();
    if (!only_lists) return;
    segments.push_back({.label = fmt::format("list {}", segments.size()),
                        .language = language,
                        .dwords = *std::move(dwords)});
  });
  return only_lists ? segments : std::vector<Segment>();
}

}  // namespace doppel::streams
