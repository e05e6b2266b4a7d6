#include "tools/streams/trace_lines.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/target.h"
#include "tools/streams/text_scan.h"

namespace doppel::streams {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

std::optional<packets::Language> language_of(const Json& packet) {
  const std::string name = text_of(packet, "language");
  for (const auto language :
       {packets::Language::Pm4, packets::Language::Sdma, packets::Language::Aql}) {
    if (name == packets::to_string(language)) return language;
  }
  return std::nullopt;
}

/// The packet's dwords; none if one of them is no dword.
std::vector<uint32_t> dwords_of(const Json& packet) {
  std::vector<uint32_t> dwords;
  const auto list = packet.find("dwords");
  if (list == packet.end() || !list->is_array()) return {};
  for (const Json& item : *list) {
    if (!item.is_string()) return {};
    std::string_view digits = item.get_ref<const std::string&>();
    const auto value = take_number(digits);
    if (!value || *value > 0xffff'ffff || !digits.empty()) return {};
    dwords.push_back(static_cast<uint32_t>(*value));
  }
  return dwords;
}

class TraceLines {
 public:
  void read(const Json& line) {
    const std::string event = text_of(line, "event"), queue = text_of(line, "queue");
    if (event == "queue") {
      const auto target = find_target(text_of(line, "target"));
      if (target) families_[queue] = (*target)->family;
    }
    if (event == "packet") read_packet(line, queue);
  }
  std::vector<Segment> finish() { return std::move(segments_); }

 private:
  void read_packet(const Json& line, const std::string& queue) {
    const auto language = language_of(line);
    const auto dwords = dwords_of(line);
    if (!language || dwords.empty()) return;
    auto segment = std::ranges::find_if(segments_, [&](const Segment& each) {
      return each.label == queue && each.language == *language;
    });
    if (segment == segments_.end()) {
      segment = segments_.insert(segment, {.label = queue, .language = *language});
      if (const auto family = families_.find(queue); family != families_.end()) {
        segment->family = family->second;
      }
    }
    segment->dwords.insert(segment->dwords.end(), dwords.begin(), dwords.end());
  }

  std::vector<Segment> segments_;
  std::map<std::string, GfxFamily> families_;  // by queue
};

}  // namespace

std::vector<Segment> parse_trace_lines(std::string_view text) {
  TraceLines lines;
  for_each_line(text, [&](std::string_view line) {
    if (!trim(line).starts_with('{')) return;
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object()) lines.read(json);
  });
  return lines.finish();
}

}  // namespace doppel::streams
