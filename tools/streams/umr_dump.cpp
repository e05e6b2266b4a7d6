#include "tools/streams/foreign_dumps.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include <fmt/format.h>

#include "tools/streams/text_scan.h"

namespace doppel::streams {
namespace {

/// "[0x1@0x100000000 + 0x0004]  [  0x00000014]": bytes at an offset of a buffer.
struct UmrBytes {
  uint64_t base = 0, offset = 0, value = 0;
  size_t size = 0;
};

std::optional<UmrBytes> parse_umr_bytes(std::string_view line) {
  UmrBytes bytes;
  line = trim(line);
  if (!take(line, "[") || !take_number(line) || !take(line, "@")) return std::nullopt;
  const auto base = take_number(line);
  skip_blanks(line);
  if (!base || !take(line, "+")) return std::nullopt;
  skip_blanks(line);
  const auto offset = take_number(line);
  if (!offset || !take(line, "]")) return std::nullopt;
  skip_blanks(line);
  if (!take(line, "[")) return std::nullopt;
  skip_blanks(line);
  const size_t before = line.size();
  const auto value = take_number(line);
  if (!value) return std::nullopt;
  bytes.size = (before - line.size() - 2) / 2;  // two digits a byte, after 0x
  if (!take(line, "]") || bytes.size == 0 || bytes.size > sizeof(uint64_t)) return std::nullopt;
  bytes.base = *base;
  bytes.offset = *offset;
  bytes.value = *value;
  return bytes;
}

/// A buffer of which umr tells the bytes in pieces.
class UmrBuffer {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

  explicit UmrBuffer(std::string label) { segment_.label = std::move(label); }

  void put(const UmrBytes& bytes) {
    if (bytes.offset >= kMaxBytes) return;
    segment_.address = bytes.base;
    image_.resize(std::max<size_t>(image_.size(), bytes.offset + bytes.size));
    std::memcpy(image_.data() + bytes.offset, &bytes.value, bytes.size);
  }
  Segment finish(packets::Language language) {
    segment_.language = aql_ ? packets::Language::Aql : language;
    segment_.dwords.resize(image_.size() / sizeof(uint32_t));
    std::ranges::copy(std::span(image_).first(segment_.dwords.size() * sizeof(uint32_t)),
                      std::as_writable_bytes(std::span(segment_.dwords)).begin());
    return std::move(segment_);
  }
  void is_aql() { aql_ = true; }
  bool holds(const UmrBytes& bytes) const {
    return !segment_.address || *segment_.address == bytes.base;
  }

 private:
  Segment segment_;
  std::vector<std::byte> image_;
  bool aql_ = false;
};

}  // namespace

std::vector<Segment> parse_umr_buffers(std::string_view text, packets::Language language) {
  std::vector<UmrBuffer> buffers;
  bool new_buffer = true;
  for_each_line(text, [&](std::string_view line) {
    if (trim(line).starts_with("Decoding IB at ")) new_buffer = true;
    const auto bytes = parse_umr_bytes(line);
    if (!bytes) return;
    if (new_buffer || !buffers.back().holds(*bytes)) {
      buffers.emplace_back(fmt::format("buffer at {:#x}", bytes->base));
    }
    new_buffer = false;
    buffers.back().put(*bytes);
    if (line.find("[HSA_") != std::string_view::npos) buffers.back().is_aql();
  });
  std::vector<Segment> segments;
  for (UmrBuffer& buffer : buffers) segments.push_back(buffer.finish(language));
  return segments;
}

/// "navi31.comp_1.0.0.ring[  12] == 0xc0053c00   .w."
std::vector<Segment> parse_umr_rings(std::string_view text, packets::Language language) {
  std::vector<Segment> segments;
  for_each_line(text, [&](std::string_view line) {
    constexpr std::string_view kRing = ".ring[";
    const size_t at = line.find(kRing);
    if (at == std::string_view::npos) return;
    const std::string label(trim(line.substr(0, at)));
    line.remove_prefix(at + kRing.size());
    skip_blanks(line);
    if (!take_number(line) || !take(line, "] == ")) return;
    const auto value = take_number(line);
    if (!value) return;
    if (segments.empty() || segments.back().label != label) {
      const bool sdma = label.find("sdma") != std::string::npos;
      segments.push_back({.label = label, .language = sdma ? packets::Language::Sdma : language});
    }
    segments.back().dwords.push_back(static_cast<uint32_t>(*value));
  });
  return segments;
}

}  // namespace doppel::streams
