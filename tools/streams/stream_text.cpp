#include "tools/streams/stream_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace doppel::streams {
namespace {

std::optional<uint64_t> parse_hex(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (status != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<uint32_t> parse_dword(std::string_view word) {
  if (word.ends_with(',')) word.remove_suffix(1);
  const bool prefixed = word.starts_with("0x") || word.starts_with("0X");
  if (prefixed) word.remove_prefix(2);
  if (prefixed ? word.empty() || word.size() > 8 : word.size() != 8) return std::nullopt;
  const auto value = parse_hex(word);
  return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
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
  if (word == "pm4" || word == "PM4") return packets::Language::Pm4;
  if (word == "sdma" || word == "SDMA") return packets::Language::Sdma;
  if (word == "aql" || word == "AQL") return packets::Language::Aql;
  return std::nullopt;
}

std::optional<GfxFamily> family_named(std::string_view word) {
  for (GfxFamily family : {GfxFamily::Gfx9_4, GfxFamily::Gfx10_3, GfxFamily::Gfx11,
                           GfxFamily::Gfx11_5, GfxFamily::Gfx12}) {
    if (word == to_string(family)) return family;
  }
  return std::nullopt;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    lines.push_back(line.substr(0, line.find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// "== LABEL (LANGUAGE, FAMILY)", its parenthesis optional.
std::optional<Segment> parse_head(std::string_view line, packets::Language language) {
  if (!line.starts_with("== ")) return std::nullopt;
  std::string_view rest = line.substr(3);
  rest = rest.substr(0, rest.find_last_not_of(" \r") + 1);
  Segment segment{.language = language};
  const size_t open = rest.rfind(" (");
  if (open != std::string_view::npos && rest.ends_with(')')) {
    const std::string_view inside = rest.substr(open + 2, rest.size() - open - 3);
    const size_t comma = inside.find(", ");
    if (const auto named = language_named(inside.substr(0, comma))) {
      segment.language = *named;
      if (comma != std::string_view::npos) segment.family = family_named(inside.substr(comma + 2));
      rest = rest.substr(0, open);
    }
  }
  segment.label = rest;
  return segment;
}

class LineParser {
 public:
  LineParser(Segment& segment, AddressNames& names) : segment_(segment), names_(names) {}

  /// Appends the line's first run of dwords; returns the words before it.
  std::string parse(std::string_view line) {
    std::string label;
    bool any = false;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      if (const auto dword = dword_of(word, line)) {
        segment_.dwords.push_back(*dword);
        any = true;
      } else if (any) {
        break;  // symbolic fields behind the dwords
      } else {
        label += (label.empty() ? "" : " ") + std::string(word);
      }
    }
    return label;
  }

 private:
  std::optional<uint32_t> dword_of(std::string_view word, std::string_view rest) {
    if (word == "@lo") {
      pair_ = named_pair(rest);
      return static_cast<uint32_t>(pair_);
    }
    if (word.ends_with("@hi")) {
      const uint64_t flags = parse_hex(word.substr(0, word.size() - 3)).value_or(0);
      return static_cast<uint32_t>(pair_ >> 32 | flags << 16);
    }
    return parse_dword(word);
  }

  /// The pair of dwords of "address=signal+0x8" or "COMPUTE_PGM_LO = code+0x100 >> 8".
  uint64_t named_pair(std::string_view rest) {
    uint64_t address = 0;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      if (word == ">>") return address >> parse_decimal(next_word(rest));
      const size_t equals = word.find('=');
      if (equals != std::string_view::npos) word = word.substr(equals + 1);
      if (const auto named = names_.address_of(word)) address = *named;
    }
    return address;
  }
  static unsigned parse_decimal(std::string_view digits) {
    unsigned value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return std::min(value, 63u);
  }

  Segment& segment_;
  AddressNames& names_;
  uint64_t pair_ = 0;
};

std::vector<Segment> join(std::vector<Segment> segments) {
  std::vector<Segment> joined;
  for (Segment& segment : segments) {
    if (segment.dwords.empty()) continue;
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

/// Every line that starts with a language is a segment.
std::vector<Segment> parse_log(const std::vector<std::string_view>& lines, AddressNames& names) {
  std::vector<Segment> segments;
  for (std::string_view line : lines) {
    const auto named = language_named(next_word(line));
    if (!named) continue;
    Segment& segment = segments.emplace_back(Segment{.language = *named});
    segment.label = LineParser(segment, names).parse(line);
  }
  return segments;
}

/// Heads start segments.
std::vector<Segment> parse_blocks(const std::vector<std::string_view>& lines,
                                  packets::Language language, AddressNames& names) {
  std::vector<Segment> segments = {Segment{.language = language}};
  std::optional<LineParser> parser;
  for (std::string_view line : lines) {
    if (auto head = parse_head(line, language)) {
      segments.push_back(std::move(*head));
      parser.reset();
      continue;
    }
    if (!parser) parser.emplace(segments.back(), names);
    parser->parse(line);
  }
  return segments;
}

}  // namespace

std::vector<Segment> parse_text(std::string_view text, packets::Language language,
                                AddressNames& names) {
  const std::vector<std::string_view> lines = split_lines(text);
  const bool log = std::ranges::any_of(lines, [](std::string_view line) {
    const std::string_view first = next_word(line);
    return first == "pm4" || first == "sdma" || first == "aql";
  });
  return join(log ? parse_log(lines, names) : parse_blocks(lines, language, names));
}

}  // namespace doppel::streams
