#include "core/graph/binding_check.h"

#include <algorithm>

#include <fmt/format.h>

namespace doppel::graph {
namespace {

/// Disjoint ranges, ascending.
class RangeSet {
 public:
  void add(std::span<const ByteRange> ranges) {
    ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  }

  void merge() {
    std::ranges::sort(ranges_, [](const ByteRange& a, const ByteRange& b) {
      return std::pair(a.buffer, a.begin) < std::pair(b.buffer, b.begin);
    });
    std::vector<ByteRange> merged;
    for (const ByteRange& range : ranges_) {
      if (!merged.empty() && merged.back().buffer == range.buffer &&
          range.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, range.end);
      else
        merged.push_back(range);
    }
    ranges_ = std::move(merged);
  }

  /// Appends the parts of `ranges` that lie in this set.
  void clip(std::span<const ByteRange> ranges, std::vector<ByteRange>& parts) const {
    for (const ByteRange& range : ranges) {
      auto at = std::ranges::partition_point(ranges_, [&](const ByteRange& mine) {
        return std::pair(mine.buffer, mine.end) <= std::pair(range.buffer, range.begin);
      });
      for (; at != ranges_.end() && at->buffer == range.buffer && at->begin < range.end; ++at)
        parts.push_back(
            {range.buffer, std::max(range.begin, at->begin), std::min(range.end, at->end)});
    }
  }

 private:
  std::vector<ByteRange> ranges_;
};

/// The first bytes that both nodes touch, at least one of them writing.
ByteRange common_bytes(const Accesses& a, const Accesses& b) {
  const auto meet = [](std::span<const ByteRange> left,
                       std::span<const ByteRange> right) -> std::optional<ByteRange> {
    for (const ByteRange& l : left)
      for (const ByteRange& r : right)
        if (l.buffer == r.buffer && l.begin < r.end && r.begin < l.end)
          return ByteRange{l.buffer, std::max(l.begin, r.begin), std::min(l.end, r.end)};
    return std::nullopt;
  };
  for (const auto& [left, right] : {std::pair(&a.writes, &b.writes), std::pair(&a.writes, &b.reads),
                                    std::pair(&a.reads, &b.writes)})
    if (auto common = meet(*left, *right)) return *common;
  return {};
}

Status missing_edge(const Definition& definition, NodeId before, NodeId after) {
  const ByteRange common =
      common_bytes(definition.nodes[before].accesses, definition.nodes[after].accesses);
  return Status(
      StatusCode::InvalidArgument,
      fmt::format("{} and {} now share memory (va {:#x}, {} bytes) without an edge between them: "
                  "record the graph with these buffers, or add an explicit edge.",
                  describe(definition, before), describe(definition, after), common.begin,
                  common.end - common.begin));
}

}  // namespace

Result<> check_bindings(const Definition& definition, const Plan& plan,
                        std::span<const NodeId> changed) {
  RangeSet touched;
  for (NodeId node : changed) {
    touched.add(definition.nodes[node].accesses.reads);
    touched.add(definition.nodes[node].accesses.writes);
  }
  touched.merge();

  AccessMap map;
  std::vector<ByteRange> reads, writes;
  for (NodeId node = 0; node < definition.nodes.size(); ++node) {
    reads.clear();
    writes.clear();
    touched.clip(definition.nodes[node].accesses.reads, reads);
    touched.clip(definition.nodes[node].accesses.writes, writes);
    if (reads.empty() && writes.empty()) continue;
    for (NodeId before : map.record(node, reads, writes))
      if (!plan.ordered(before, node))
        return std::unexpected(missing_edge(definition, before, node));
  }
  return {};
}

}  // namespace doppel::graph
