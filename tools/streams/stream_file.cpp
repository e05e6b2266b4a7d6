#include "tools/streams/stream_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

namespace doppel::streams {
namespace {

bool is_text(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) {
    const auto c = static_cast<unsigned char>(byte);
    return c == '\n' || c == '\r' || c == '\t' || (c >= 0x20 && c < 0x7f);
  });
}

std::optional<uint32_t> parse_dword(std::string_view word) {
  if (word.ends_with(',')) word.remove_suffix(1);
  const bool prefixed = word.starts_with("0x") || word.starts_with("0X");
  if (prefixed) word.remove_prefix(2);
  if (prefixed ? word.empty() || word.size() > 8 : word.size() != 8) return std::nullopt;
  uint32_t value = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (status != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// Takes the next word off `line`; empty at its end.
std::string_view next_word(std::string_view& line) {
  const size_t start = line.find_first_not_of(" \t\r");
  if (start == std::string_view::npos) return line = {};
  const size_t end = line.find_first_of(" \t\r", start);
  const std::string_view word = line.substr(start, end - start);
  line = end == std::string_view::npos ? std::string_view{} : line.substr(end);
  return word;
}

std::optional<packets::Language> language_named(std::string_view word) {
  if (word == "pm4") return packets::Language::Pm4;
  if (word == "sdma") return packets::Language::Sdma;
  if (word == "aql") return packets::Language::Aql;
  return std::nullopt;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end).substr(0, text.substr(0, end).find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<packets::Language> language_of_line(std::string_view line) {
  return language_named(next_word(line));
}

/// The dwords of a line's first run of them; words before it go to the label.
Segment parse_line(std::string_view line, packets::Language language) {
  Segment segment{"", language, {}};
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (const auto dword = parse_dword(word)) {
      segment.dwords.push_back(*dword);
    } else if (!segment.dwords.empty()) {
      break;  // symbolic fields behind the dwords
    } else {
      segment.label += (segment.label.empty() ? "" : " ") + std::string(word);
    }
  }
  return segment;
}

/// Consecutive lines of one queue make one stream.
std::vector<Segment> join(std::vector<Segment> segments) {
  std::vector<Segment> joined;
  for (Segment& segment : segments) {
    if (!joined.empty() && joined.back().label == segment.label &&
        joined.back().language == segment.language) {
      joined.back().dwords.insert(joined.back().dwords.end(), segment.dwords.begin(),
                                  segment.dwords.end());
    } else {
      joined.push_back(std::move(segment));
    }
  }
  return joined;
}

}  // namespace

Result<std::vector<Segment>> parse_segments(std::span<const std::byte> bytes,
                                            packets::Language language) {
  if (!is_text(bytes)) {
    if (bytes.size() % sizeof(uint32_t) != 0) {
      return error(
          StatusCode::Malformed,
          fmt::format("The raw stream is no whole number of dwords ({} bytes).", bytes.size()));
    }
    Segment segment{"", language, std::vector<uint32_t>(bytes.size() / sizeof(uint32_t))};
    std::memcpy(segment.dwords.data(), bytes.data(), bytes.size());
    return std::vector{std::move(segment)};
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::vector<std::string_view> lines = split_lines(text);
  const bool labelled =
      std::ranges::any_of(lines, [](auto line) { return language_of_line(line).has_value(); });
  std::vector<Segment> parsed;
  for (std::string_view line : lines) {
    const auto named = language_of_line(line);
    if (labelled && !named) continue;
    if (named) next_word(line);
    parsed.push_back(parse_line(line, named.value_or(language)));
    if (!labelled) parsed.back().label.clear();
  }
  std::erase_if(parsed, [](const Segment& segment) { return segment.dwords.empty(); });
  std::vector<Segment> segments = join(std::move(parsed));
  if (segments.empty()) {
    return error(StatusCode::Malformed, "The text has no dwords of eight hexadecimal digits.");
  }
  return segments;
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return error(StatusCode::NotFound, fmt::format("The file can't be opened ({}).", path));
  std::vector<std::byte> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return error(StatusCode::System, fmt::format("The file can't be read ({}).", path));
  return bytes;
}

}  // namespace doppel::streams
