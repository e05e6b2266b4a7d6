#include "core/graph/plan.h"

#include <algorithm>
#include <functional>
#include <queue>

#include <fmt/format.h>

namespace doppel::graph {
namespace {

using Predecessors = std::vector<std::vector<NodeId>>;

void sort_unique(std::vector<NodeId>& nodes) {
  std::ranges::sort(nodes);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
}

Predecessors all_predecessors(const Definition& definition) {
  Predecessors before = derive_dependencies(definition.nodes);
  for (const Edge& edge : definition.edges) before[edge.after].push_back(edge.before);
  for (std::vector<NodeId>& nodes : before) sort_unique(nodes);
  return before;
}

/// Nodes in an order that respects `before`: always the earliest recorded one that may go next.
/// Shorter than `before` if there is a cycle.
std::vector<NodeId> topological_order(const Predecessors& before) {
  std::vector<std::vector<NodeId>> after(before.size());
  std::vector<size_t> missing(before.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId node = 0; node < before.size(); ++node) {
    for (NodeId predecessor : before[node]) after[predecessor].push_back(node);
    missing[node] = before[node].size();
    if (missing[node] == 0) ready.push(node);
  }
  std::vector<NodeId> order;
  order.reserve(before.size());
  while (!ready.empty()) {
    const NodeId node = ready.top();
    ready.pop();
    order.push_back(node);
    for (NodeId next : after[node])
      if (--missing[next] == 0) ready.push(next);
  }
  return order;
}

/// A cycle among the nodes that `order` could not place, in the direction of its edges.
std::vector<NodeId> find_cycle(const Predecessors& before, const std::vector<NodeId>& order) {
  std::vector<bool> placed(before.size());
  for (NodeId node : order) placed[node] = true;
  // Every unplaced node has an unplaced predecessor: walking back must come around.
  NodeId node = static_cast<NodeId>(std::ranges::find(placed, false) - placed.begin());
  std::vector<NodeId> walk;
  std::vector<bool> visited(before.size());
  while (!visited[node]) {
    visited[node] = true;
    walk.push_back(node);
    node = *std::ranges::find_if(before[node], [&](NodeId next) { return !placed[next]; });
  }
  walk.erase(walk.begin(), std::ranges::find(walk, node));
  std::ranges::reverse(walk);
  return walk;
}

Status cycle_error(const Definition& definition, const std::vector<NodeId>& cycle) {
  std::string text;
  for (size_t i = 0; i < cycle.size(); ++i) {
    const NodeId from = cycle[i], to = cycle[(i + 1) % cycle.size()];
    const bool is_explicit = std::ranges::any_of(definition.edges, [&](const Edge& edge) {
      return edge.before == from && edge.after == to;
    });
    text += fmt::format("{}{} precedes {} ({})", i == 0 ? "" : ", ", describe(definition, from),
                        describe(definition, to), is_explicit ? "explicit edge" : "shared memory");
  }
  return Status(StatusCode::InvalidArgument,
                fmt::format("The graph's edges form a cycle: {}.", text));
}

QueueIndex find_or_add_queue(std::vector<PlanQueue>& queues, Device* device, QueueKind kind) {
  const auto found = std::ranges::find_if(
      queues, [&](const PlanQueue& queue) { return queue.device == device && queue.kind == kind; });
  if (found != queues.end()) return static_cast<QueueIndex>(found - queues.begin());
  queues.push_back({.device = device, .kind = kind, .steps = {}});
  return static_cast<QueueIndex>(queues.size() - 1);
}

void assign_queues(const Definition& definition, QueueKind kernel_queue, Plan& plan) {
  for (Step& step : plan.steps) {
    const Node& node = definition.nodes[step.node];
    const bool is_kernel = std::holds_alternative<KernelWork>(node.work);
    step.queue =
        find_or_add_queue(plan.queues, node.device, is_kernel ? kernel_queue : QueueKind::Sdma);
  }
}

void find_waits(const Predecessors& before, Plan& plan) {
  plan.order = QueueOrder(static_cast<QueueIndex>(plan.queues.size()));
  for (StepIndex index = 0; index < plan.steps.size(); ++index) {
    Step& step = plan.steps[index];
    std::vector<StepIndex> dependencies;
    for (NodeId node : before[step.node]) dependencies.push_back(plan.step_of_node[node]);
    step.waits = plan.order.append(step.queue, dependencies);
    for (StepIndex producer : step.waits) plan.steps[producer].signals = true;
    plan.queues[step.queue].steps.push_back(index);
  }
  for (const PlanQueue& queue : plan.queues) {
    uint32_t value = 0;
    for (StepIndex index : queue.steps) {
      if (plan.steps[index].signals) ++value;
      plan.steps[index].signal_value = value;
    }
  }
}

}  // namespace

std::vector<std::vector<NodeId>> derive_dependencies(std::span<const Node> nodes) {
  AccessMap map;
  std::vector<std::vector<NodeId>> dependencies;
  dependencies.reserve(nodes.size());
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const Accesses& accesses = nodes[id].accesses;
    dependencies.push_back(map.record(id, accesses.reads, accesses.writes));
  }
  return dependencies;
}

Result<Plan> make_plan(const Definition& definition, QueueKind kernel_queue) {
  const Predecessors before = all_predecessors(definition);
  const std::vector<NodeId> order = topological_order(before);
  if (order.size() < before.size())
    return std::unexpected(cycle_error(definition, find_cycle(before, order)));

  Plan plan;
  plan.steps.resize(order.size());
  plan.step_of_node.resize(order.size());
  for (StepIndex index = 0; index < order.size(); ++index) {
    plan.steps[index].node = order[index];
    plan.step_of_node[order[index]] = index;
  }
  assign_queues(definition, kernel_queue, plan);
  find_waits(before, plan);
  return plan;
}

}  // namespace doppel::graph
