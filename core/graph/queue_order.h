// QueueOrder: which nodes are known to be complete before a node begins, when nodes run on in-order
// queues and some edges between queues are waits. It drops every dependency that queue order, or a
// wait that is needed anyway, already implies: what is left is the minimal set of cross-queue
// waits.
//
// A vector clock per node, one entry a queue: O(q) memory and O(d * q) time per node with d
// dependencies and q queues. Deterministic. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/access_map.h"

namespace doppel::graph {

/// Index of an in-order queue among those that a graph uses.
using QueueIndex = uint32_t;

class QueueOrder {
 public:
  explicit QueueOrder(QueueIndex queues) : queues_(queues), last_(queues, 0) {}

  /// Appends the next node, which runs on `queue` after all earlier nodes of that queue and after
  /// `dependencies` (earlier nodes, any order). Returns the dependencies that need a wait: none on
  /// the same queue, none implied by another or by queue order; at most one per queue; ascending.
  std::vector<NodeId> append(QueueIndex queue, std::span<const NodeId> dependencies);

  /// True if `first` is complete whenever `second` begins.
  bool ordered(NodeId first, NodeId second) const;

  /// The last node of each queue that has any, ascending: what a finish has to wait for.
  std::vector<NodeId> last_nodes() const;

  QueueIndex queue_of(NodeId node) const { return nodes_[node]; }

 private:
  /// clock[q]: how many nodes of queue q are complete when the node has completed.
  std::span<const uint32_t> clock(NodeId node) const {
    return std::span(clocks_).subspan(size_t{node} * queues_, queues_);
  }
  bool covers(NodeId later, NodeId earlier) const {
    return clock(later)[nodes_[earlier]] >= clock(earlier)[nodes_[earlier]];
  }

  QueueIndex queues_;
  std::vector<QueueIndex> nodes_;  // node -> queue
  std::vector<uint32_t> clocks_;   // node-major
  std::vector<uint32_t> last_;     // queue -> 1 + its last node, 0 if none
};

}  // namespace doppel::graph
