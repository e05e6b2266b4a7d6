#include "core/graph/queue_order.h"

#include <algorithm>

#include "core/assert.h"

namespace doppel::graph {

std::vector<NodeId> QueueOrder::append(QueueIndex queue, std::span<const NodeId> dependencies) {
  DOPPEL_ASSERT(queue < queues_, "A node is appended to a queue that the graph does not use.");
  const NodeId node = static_cast<NodeId>(nodes_.size());
  std::vector<uint32_t> now(queues_, 0);
  if (last_[queue] != 0) std::ranges::copy(clock(last_[queue] - 1), now.begin());

  // Latest first: a later node can imply an earlier one, never the reverse.
  std::vector<NodeId> latest_first(dependencies.begin(), dependencies.end());
  std::ranges::sort(latest_first, std::greater<>());
  std::vector<NodeId> waits;
  for (NodeId dependency : latest_first) {
    DOPPEL_ASSERT(dependency < node, "A node depends on one that is recorded later.");
    const QueueIndex producer = nodes_[dependency];
    if (now[producer] >= clock(dependency)[producer]) continue;
    const auto known = clock(dependency);
    for (QueueIndex q = 0; q < queues_; ++q) now[q] = std::max(now[q], known[q]);
    waits.push_back(dependency);
  }
  std::ranges::reverse(waits);

  ++now[queue];
  nodes_.push_back(queue);
  clocks_.insert(clocks_.end(), now.begin(), now.end());
  last_[queue] = node + 1;
  return waits;
}

bool QueueOrder::ordered(NodeId first, NodeId second) const {
  return first < second && covers(second, first);
}

std::vector<NodeId> QueueOrder::last_nodes() const {
  std::vector<NodeId> nodes;
  for (uint32_t last : last_)
    if (last != 0) nodes.push_back(last - 1);
  std::ranges::sort(nodes);
  return nodes;
}

}  // namespace doppel::graph
