// AccessMap: who last wrote, and who has read since, each byte of each buffer. It turns the
// accesses of graph nodes, given in recording order, into the nodes that each must follow: a reader
// follows the last writer; a writer follows the last writer and all readers since.
//
// Costs O(log s + k) per range, with s the segments of its buffer and k those that the range meets;
// memory is proportional to the segments. Deterministic. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace doppel::graph {

/// Index of a node in recording order.
using NodeId = uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

/// Bytes [begin, end) of the buffer that `buffer` identifies (any number unique to an allocation).
struct ByteRange {
  uint64_t buffer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

class AccessMap {
 public:
  /// Records that `node` reads and writes these ranges (which may overlap one another; empty ones
  /// are ignored) and returns the earlier nodes that it must follow, ascending, each once.
  std::vector<NodeId> record(NodeId node, std::span<const ByteRange> reads,
                             std::span<const ByteRange> writes);

  /// Forgets everything.
  void clear() { buffers_.clear(); }

 private:
  /// Bytes from this key to the next one of the map.
  struct Segment {
    NodeId writer = kNoNode;
    std::vector<NodeId> readers;
  };
  using Segments = std::map<uint64_t, Segment>;  // by first byte; the first key is 0

  static Segments::iterator split(Segments& segments, uint64_t at);
  template <class Visit>
  void for_each_segment(const ByteRange& range, Visit visit);

  std::unordered_map<uint64_t, Segments> buffers_;  // looked up only, never walked
};

}  // namespace doppel::graph
