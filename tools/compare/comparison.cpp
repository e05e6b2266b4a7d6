#include "tools/compare/comparison.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/streams/stream_diff.h"

namespace doppel::compare {
namespace {

using Json = nlohmann::ordered_json;
using Row = Comparison::Row;

/// What only one of the runs has.
Row one_sided(std::string kind, std::string name, const Trial& side) {
  return {std::move(kind), std::move(name), false, true, fmt::format("only {}", side.machine)};
}

Row compare_buffers(const Trial::Buffer& left, const Trial::Buffer& right) {
  Row row{"memory", left.name, true, true, fmt::format("{} bytes", left.content.size())};
  const auto [at, other] = std::ranges::mismatch(left.content, right.content);
  if (at == left.content.end() && other == right.content.end()) return row;
  const auto first = static_cast<size_t>(at - left.content.begin());
  row.equal = false;
  if (first == std::min(left.content.size(), right.content.size())) {
    row.detail = fmt::format("{} and {} bytes", left.content.size(), right.content.size());
    return row;
  }
  size_t end = first;
  while (end < left.content.size() && end < right.content.size() &&
         left.content[end] != right.content[end]) {
    ++end;
  }
  row.detail = fmt::format("first at bytes {:#x} to {:#x} ({:02x} and {:02x})", first, end - 1,
                           std::to_integer<int>(left.content[first]),
                           std::to_integer<int>(right.content[first]));
  return row;
}

std::vector<streams::ComparedPacket> packets_of(const Trial::Stream& stream) {
  packets::DumpOptions options;
  options.address_name = [&stream](uint64_t address) { return Trial::name_in(stream, address); };
  return streams::compared_packets(stream.language, stream.dwords, stream.family, options);
}

Row compare_streams(const Trial::Stream& left, const Trial::Stream& right) {
  const auto before = packets_of(left), after = packets_of(right);
  const auto differences = streams::diff(before, after);
  if (differences.empty()) {
    return {"stream", left.queue, true, true,
            fmt::format("{} packets, {} dwords", before.size(), left.dwords.size())};
  }
  return {"stream", left.queue, false, true, "\n" + streams::to_text(differences)};
}

template <class Item, class Compare>
void compare_lists(std::string_view kind, const std::vector<Item>& left,
                   const std::vector<Item>& right, std::string Item::*name, const Trial& left_side,
                   const Trial& right_side, Compare&& compare, std::vector<Row>& rows) {
  const size_t both = std::min(left.size(), right.size());
  for (size_t i = 0; i < both; ++i) rows.push_back(compare(left[i], right[i]));
  for (size_t i = both; i < left.size(); ++i) {
    rows.push_back(one_sided(std::string(kind), left[i].*name, left_side));
  }
  for (size_t i = both; i < right.size(); ++i) {
    rows.push_back(one_sided(std::string(kind), right[i].*name, right_side));
  }
}

std::string microseconds(double ns) {
  return fmt::format("{:.2f} us", ns / 1e3);
}

}  // namespace

bool Comparison::equal() const {
  return std::ranges::all_of(rows, &Row::equal);
}

Comparison compare(const Trial& left, const Trial& right) {
  Comparison comparison;
  compare_lists("memory", left.buffers, right.buffers, &Trial::Buffer::name, left, right,
                compare_buffers, comparison.rows);
  compare_lists(
      "signal", left.signals, right.signals, &Trial::SignalValue::name, left, right,
      [](const Trial::SignalValue& a, const Trial::SignalValue& b) {
        return Row{"signal", a.name, a.value == b.value, true,
                   a.value == b.value ? fmt::format("{}", a.value)
                                      : fmt::format("{} and {}", a.value, b.value)};
      },
      comparison.rows);
  if (left.target != right.target) {
    comparison.rows.push_back({"stream", "all", true, false,
                               fmt::format("not compared: {} and {} take different packets",
                                           left.target->name, right.target->name)});
    return comparison;
  }
  compare_lists("stream", left.streams, right.streams, &Trial::Stream::queue, left, right,
                compare_streams, comparison.rows);
  return comparison;
}

std::string to_text(const Comparison& comparison, const Trial& left, const Trial& right) {
  std::string text = fmt::format("left   {}: {}\nright  {}: {}\n", left.machine, left.gpu,
                                 right.machine, right.gpu);
  for (const Row& row : comparison.rows) {
    const std::string_view verdict = !row.compared ? "" : row.equal ? "equal" : "DIFFERS";
    text += fmt::format("{:<7} {:<10} {:<8} {}\n", row.kind, row.name, verdict, row.detail);
  }
  text += fmt::format("{:<20} {:>14} {:>14}   {:>14} {:>14}\n", "timings", "left start", "duration",
                      "right start", "duration");
  for (size_t i = 0; i < std::min(left.nodes.size(), right.nodes.size()); ++i) {
    const Trial::Node &a = left.nodes[i], &b = right.nodes[i];
    text += fmt::format("  {:<18} {:>14} {:>14}   {:>14} {:>14}\n", a.name,
                        microseconds(a.start_ns), microseconds(a.duration_ns),
                        microseconds(b.start_ns), microseconds(b.duration_ns));
  }
  return text;
}

std::string to_json(const Comparison& comparison, const Trial& left, const Trial& right) {
  Json rows = Json::array();
  for (const Row& row : comparison.rows) {
    rows.push_back({{"kind", row.kind},
                    {"name", row.name},
                    {"compared", row.compared},
                    {"equal", row.equal},
                    {"detail", row.detail}});
  }
  const auto side = [](const Trial& trial) {
    Json nodes = Json::array();
    for (const Trial::Node& node : trial.nodes) {
      nodes.push_back(
          {{"name", node.name}, {"start_ns", node.start_ns}, {"duration_ns", node.duration_ns}});
    }
    return Json{{"machine", trial.machine}, {"gpu", trial.gpu}, {"nodes", nodes}};
  };
  return Json{
      {"left", side(left)}, {"right", side(right)}, {"equal", comparison.equal()}, {"rows", rows}}
      .dump(2);
}

}  // namespace doppel::compare
