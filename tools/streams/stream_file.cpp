#include "tools/streams/stream_file.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "tools/streams/foreign_dumps.h"
#include "tools/streams/stream_text.h"
#include "tools/streams/trace_lines.h"
#include "tools/streams/trace_streams.h"

namespace doppel::streams {
namespace {

bool is_text(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) {
    const auto c = static_cast<unsigned char>(byte);
    return c == '\033' || c == '\n' || c == '\r' || c == '\t' || (c >= 0x20 && c < 0x7f);
  });
}

std::vector<Segment> parse_any_text(std::string_view text, packets::Language language,
                                    AddressNames& names) {
  std::vector<Segment> segments = parse_trace_lines(text);
  if (segments.empty()) segments = parse_foreign_dump(text, language);
  if (segments.empty()) segments = parse_text(text, language, names);
  return segments;
}

}  // namespace

Result<std::vector<Segment>> parse_segments(std::span<const std::byte> bytes,
                                            packets::Language language, AddressNames& names) {
  if (is_trace(bytes)) return parse_trace(bytes);
  if (is_text(bytes)) {
    const std::string text =
        without_colors({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    std::vector<Segment> segments = parse_any_text(text, language, names);
    if (!segments.empty()) return segments;
    return error(StatusCode::Malformed, "The text has no dwords of eight hexadecimal digits.");
  }
  if (bytes.size() % sizeof(uint32_t) != 0) {
    return error(
        StatusCode::Malformed,
        fmt::format("The raw stream is no whole number of dwords ({} bytes).", bytes.size()));
  }
  Segment segment{.language = language,
                  .dwords = std::vector<uint32_t>(bytes.size() / sizeof(uint32_t))};
  std::memcpy(segment.dwords.data(), bytes.data(), bytes.size());
  return std::vector{std::move(segment)};
}

}  // namespace doppel::streams
