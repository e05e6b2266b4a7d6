#include "tools/streams/foreign_dumps.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "core/packets/aql.h"
#include "tools/streams/text_scan.h"

namespace doppel::streams {
namespace {

/// The text of one packet: its fields by name.
class HipFields {
 public:
  explicit HipFields(std::string_view text) : text_(text) {}

  /// The numbers of "name=1", "name = 1" or "name=[1, 2, 3]"; 0 for those that are missing.
  template <size_t kCount>
  std::array<uint64_t, kCount> numbers(std::string_view name) const {
    std::array<uint64_t, kCount> values{};
    std::string_view rest = after(name);
    take(rest, "[");
    for (uint64_t& value : values) {
      skip_blanks(rest);
      value = take_number(rest).value_or(0);
      take(rest, ",");
    }
    return values;
  }
  uint64_t number(std::string_view name) const { return numbers<1>(name)[0]; }
  std::string_view word(std::string_view name) const {
    const std::string_view rest = after(name);
    return rest.substr(0, rest.find_first_of(", \n"));
  }

 private:
  /// What follows the name, and its '=' or ':'.
  std::string_view after(std::string_view name) const {
    for (size_t at = text_.find(name); at != std::string_view::npos;
         at = text_.find(name, at + 1)) {
      if (at > 0 &&
          (std::isalnum(static_cast<unsigned char>(text_[at - 1])) || text_[at - 1] == '_')) {
        continue;
      }
      std::string_view rest = text_.substr(at + name.size());
      skip_blanks(rest);
      if (!take(rest, "=") && !take(rest, ":")) continue;
      skip_blanks(rest);
      return rest;
    }
    return {};
  }

  std::string_view text_;
};

template <class Packet>
std::vector<uint32_t> with_header(const Packet& packet, const HipFields& fields, uint32_t upper) {
  std::vector<uint32_t> dwords(packet.dwords().begin(), packet.dwords().end());
  dwords[0] = static_cast<uint32_t>(fields.number("Header") & 0xffff) | upper << 16;
  return dwords;
}

constexpr GfxFamily kAnyFamily = GfxFamily::Gfx11;  // AQL is the same on all

std::vector<uint32_t> hip_dispatch(const HipFields& fields) {
  const auto grid = fields.numbers<3>("grid"), workgroup = fields.numbers<3>("workgroup");
  const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  aql::KernelDispatch packet(kAnyFamily);
  packet.workgroup_size_x(low(workgroup[0] & 0xffff))
      .workgroup_size_y(low(workgroup[1] & 0xffff))
      .workgroup_size_z(low(workgroup[2] & 0xffff))
      .grid_size_x(low(grid[0]))
      .grid_size_y(low(grid[1]))
      .grid_size_z(low(grid[2]))
      .private_segment_size(low(fields.number("private_seg_size")))
      .group_segment_size(low(fields.number("group_seg_size")))
      .kernel_object(fields.number("kernel_obj"))
      .kernarg_address(fields.number("kernarg_address"))
      .completion_signal(fields.number("completion_signal"));
  return with_header(packet, fields, low(fields.number("setup") & 0xffff));
}

std::vector<uint32_t> hip_barrier_and(const HipFields& fields) {
  const auto signals = fields.numbers<5>("dep_signal");
  aql::BarrierAnd packet(kAnyFamily);
  packet.dep_signal0(signals[0])
      .dep_signal1(signals[1])
      .dep_signal2(signals[2])
      .dep_signal3(signals[3])
      .dep_signal4(signals[4])
      .completion_signal(fields.number("completion_signal"));
  return with_header(packet, fields, 0);
}

std::vector<uint32_t> hip_barrier_value(const HipFields& fields) {
  constexpr uint32_t kFormat = aql::kVendorBarrierValueFormat;
  const std::string_view condition = fields.word("cond");
  auto cond = aql::SignalCondition::EQ;
  for (const packets::EnumValue& value : packets::enum_values_of<aql::SignalCondition>()) {
    if (value.name == condition) cond = static_cast<aql::SignalCondition>(value.value);
  }
  aql::VendorBarrierValue packet(kAnyFamily);
  packet.signal(fields.number("signal"))
      .value(fields.number("value"))
      .mask(fields.number("mask"))
      .cond(cond)
      .completion_signal(fields.number("completion_signal"));
  return with_header(packet, fields, kFormat);
}

struct HipKind {
  std::string_view mark;
  std::vector<uint32_t> (*packet)(const HipFields&);
};
constexpr std::array kHipKinds = {HipKind{"Dispatch Header = 0x", &hip_dispatch},
                                  HipKind{"BarrierAND Header = 0x", &hip_barrier_and},
                                  HipKind{"BarrierValue Header = 0x", &hip_barrier_value}};

/// Finds the packets of all kinds in order.
class HipPackets {
 public:
  explicit HipPackets(std::string_view text) : text_(text) {
    for (size_t i = 0; i < kHipKinds.size(); ++i) next_[i] = text_.find(kHipKinds[i].mark);
  }
  /// Where the next one begins; npos at the end.
  size_t at() const { return next_[kind_number()]; }
  const HipKind& kind() const { return kHipKinds[kind_number()]; }
  void advance() {
    const size_t number = kind_number();
    next_[number] = text_.find(kHipKinds[number].mark, next_[number] + 1);
  }

 private:
  size_t kind_number() const {
    return static_cast<size_t>(std::ranges::min_element(next_) - next_.begin());
  }

  std::string_view text_;
  std::array<size_t, kHipKinds.size()> next_{};
};

/// "HWq=0x7f0ab9c00000" before a packet.
std::string queue_label(std::string_view before) {
  const size_t at = before.rfind("HWq=");
  if (at == std::string_view::npos) return "log";
  const std::string_view rest = before.substr(at);
  return std::string(rest.substr(0, rest.find_first_of(", \n")));
}

}  // namespace

/// Packets stand on one line, or on several.
std::vector<Segment> parse_hip_log(std::string_view text) {
  constexpr size_t kLongest = 1000;  // of one packet's text
  std::vector<Segment> segments;
  HipPackets found(text);
  size_t previous = 0;
  while (found.at() != std::string_view::npos) {
    const size_t begin = found.at();
    const HipKind& kind = found.kind();
    found.advance();
    const size_t end = std::min({found.at(), text.size(), begin + kLongest});
    const auto dwords = kind.packet(HipFields(text.substr(begin, end - begin)));
    const std::string label = queue_label(text.substr(previous, begin - previous));
    previous = begin;
    const auto queue = std::ranges::find(segments, label, &Segment::label);
    if (queue == segments.end()) {
      segments.push_back({.label = label, .language = packets::Language::Aql, .dwords = dwords});
    } else {
      queue->dwords.insert(queue->dwords.end(), dwords.begin(), dwords.end());
    }
  }
  return segments;
}

}  // namespace doppel::streams
