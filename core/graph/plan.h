// Plan: in which order, on which queues, and after which waits the nodes of a graph run. Made once
// when a graph is instantiated and the same for every executor; it holds no addresses, so that
// replay never changes it.
//
// Immutable once made; safe to share between threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/graph/definition.h"
#include "core/graph/queue_order.h"
#include "core/queue.h"
#include "core/status.h"

namespace doppel::graph {

/// Index into Plan::steps.
using StepIndex = uint32_t;

/// One node's turn.
struct Step {
  NodeId node = 0;
  QueueIndex queue = 0;
  /// Steps of other queues that must be complete first, ascending, at most one per queue: what
  /// queue order and earlier waits don't imply.
  std::vector<StepIndex> waits;
  /// True if another queue waits for this step.
  bool signals = false;
  /// How many steps of its queue signal, up to and including this one.
  uint32_t signal_value = 0;
};

/// One in-order queue. The first of a plan is the hub that starts and finishes a launch.
struct PlanQueue {
  Device* device = nullptr;
  QueueKind kind = QueueKind::Pm4;
  std::vector<StepIndex> steps;  // ascending
};

struct Plan {
  std::vector<PlanQueue> queues;
  std::vector<Step> steps;              // in an order that respects all edges
  std::vector<StepIndex> step_of_node;  // by NodeId
  QueueOrder order{0};                  // over steps

  /// True if `before` is complete whenever `after` begins.
  bool ordered(NodeId before, NodeId after) const {
    return order.ordered(step_of_node[before], step_of_node[after]);
  }
};

/// Plans `definition` with kernels on queues of `kernel_queue` and transfers on SDMA queues.
/// InvalidArgument if the edges, derived and explicit, form a cycle: the text names its nodes.
/// Nodes that nothing orders keep the order in which they were recorded.
Result<Plan> make_plan(const Definition& definition, QueueKind kernel_queue);

/// The dependencies of every node that the accesses of the nodes imply, transitive ones included.
std::vector<std::vector<NodeId>> derive_dependencies(std::span<const Node> nodes);

}  // namespace doppel::graph
