#include "core/graph/access_map.h"

#include <algorithm>
#include <iterator>

namespace doppel::graph {

AccessMap::Segments::iterator AccessMap::split(Segments& segments, uint64_t at) {
  auto after = segments.lower_bound(at);
  if (after != segments.end() && after->first == at) return after;
  return segments.emplace_hint(after, at, std::prev(after)->second);
}

template <class Visit>
void AccessMap::for_each_segment(const ByteRange& range, Visit visit) {
  if (range.begin >= range.end) return;
  Segments& segments = buffers_[range.buffer];
  if (segments.empty()) segments.emplace(0, Segment{});
  const auto first = split(segments, range.begin);
  const auto last = split(segments, range.end);
  for (auto segment = first; segment != last; ++segment) visit(segment->second);
}

std::vector<NodeId> AccessMap::record(NodeId node, std::span<const ByteRange> reads,
                                      std::span<const ByteRange> writes) {
  std::vector<NodeId> follows;
  // All dependencies are collected before the node itself enters the map: what it writes may
  // overlap what it reads.
  for (const ByteRange& range : reads)
    for_each_segment(range, [&](const Segment& segment) { follows.push_back(segment.writer); });
  for (const ByteRange& range : writes) {
    for_each_segment(range, [&](const Segment& segment) {
      follows.push_back(segment.writer);
      follows.insert(follows.end(), segment.readers.begin(), segment.readers.end());
    });
  }
  for (const ByteRange& range : reads) {
    for_each_segment(range, [&](Segment& segment) {
      if (segment.readers.empty() || segment.readers.back() != node)
        segment.readers.push_back(node);
    });
  }
  for (const ByteRange& range : writes)
    for_each_segment(range,
                     [&](Segment& segment) { segment = Segment{.writer = node, .readers = {}}; });

  std::ranges::sort(follows);
  const auto repeated = std::ranges::unique(follows);
  follows.erase(repeated.begin(), repeated.end());
  std::erase(follows, kNoNode);
  std::erase(follows, node);
  return follows;
}

}  // namespace doppel::graph
