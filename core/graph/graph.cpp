#include "core/graph.h"

#include <atomic>

#include <fmt/format.h>

#include "core/graph/definition.h"
#include "core/graph/replay.h"

namespace doppel {

using graph::Definition;
using graph::NodeId;
using graph::Replay;

namespace {

/// Tells the handles of different graphs apart.
uint64_t next_graph_id() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

void keep_first(Definition& definition, Status status) {
  if (!definition.error) definition.error = std::move(status);
}

/// The device whose engine copies by default: where the source is, unless that is system memory.
Device* copying_device(const MemoryView& source, const MemoryView& destination) {
  const auto in_vram = [](const MemoryView& view) {
    return view.allocation != nullptr && view.allocation->options.domain == MemoryDomain::Vram;
  };
  const MemoryView& side = in_vram(source) || !in_vram(destination) ? source : destination;
  return side.allocation != nullptr ? side.allocation->owner : nullptr;
}

/// Appends a node; its edges come next.
NodeId append(Definition& definition, std::string name, Device* device, graph::Work work) {
  const NodeId id = static_cast<NodeId>(definition.nodes.size());
  graph::Accesses accesses = graph::accesses_of(work);
  definition.nodes.push_back({std::move(name), device, std::move(work), std::move(accesses)});
  if (device == nullptr) {
    keep_first(definition, Status(StatusCode::InvalidArgument,
                                  fmt::format("{} names memory that no allocation describes: say "
                                              "whose engine transfers (GraphNodeOptions::device).",
                                              describe(definition, id))));
  }
  return id;
}

}  // namespace

std::string_view to_string(GraphExecutor executor) {
  switch (executor) {
    case GraphExecutor::Auto:
      return "auto";
    case GraphExecutor::Pm4Sdma:
      return "pm4+sdma";
    case GraphExecutor::Aql:
      return "aql";
  }
  return "?";
}

Graph::Graph() : definition_(std::make_unique<Definition>()) {
  definition_->id = next_graph_id();
}
Graph::~Graph() = default;
Graph::Graph(Graph&& other) noexcept : Graph() {
  std::swap(definition_, other.definition_);
}
Graph& Graph::operator=(Graph&& other) noexcept {
  Graph empty;
  definition_ = std::exchange(other.definition_, std::move(empty.definition_));
  return *this;
}

uint64_t Graph::id() const {
  return definition_->id;
}

size_t Graph::size() const {
  return definition_->nodes.size();
}

template <class Grid>
GraphNode Graph::add_kernel(Result<Kernel> kernel, KernelArgs args, Grid grid, Dim3 workgroup,
                            GraphNodeOptions options) {
  const size_t number = definition_->nodes.size();
  if (!kernel) {
    keep_first(*definition_,
               Status(kernel.error().code(),
                      fmt::format("Node {} has no kernel: {}", number, kernel.error().message())));
    return {};
  }
  std::string name = options.name.empty() ? std::string(kernel->name()) : std::move(options.name);
  const auto dims = LaunchDims::from(grid, workgroup);
  if (!dims) {
    keep_first(*definition_,
               Status(dims.error().code(),
                      fmt::format("Node {} ({}): {}", number, name, dims.error().message())));
    return {};
  }
  Device* device = kernel->owner();
  const NodeId id = append(*definition_, std::move(name), device,
                           graph::KernelWork{*std::move(kernel), std::move(args), *dims});
  return finish_node(id, options);
}

GraphNode Graph::finish_node(uint32_t id, const GraphNodeOptions& options) {
  const GraphNode node(definition_->id, id);
  for (const GraphNode& before : options.after) add_edge(before, node);
  return node;
}

GraphNode Graph::kernel(Result<Kernel> kernel, KernelArgs args, Dim3 grid, Dim3 workgroup,
                        GraphNodeOptions options) {
  return add_kernel(std::move(kernel), std::move(args), grid, workgroup, std::move(options));
}

GraphNode Graph::kernel(Result<Kernel> kernel, KernelArgs args, WorkItems grid, Dim3 workgroup,
                        GraphNodeOptions options) {
  return add_kernel(std::move(kernel), std::move(args), grid, workgroup, std::move(options));
}

GraphNode Graph::copy(const MemoryView& source, const MemoryView& destination,
                      GraphNodeOptions options) {
  Device* device = options.device ? options.device : copying_device(source, destination);
  const NodeId id = append(*definition_, options.name.empty() ? "copy" : options.name, device,
                           graph::CopyWork{source, destination});
  return finish_node(id, options);
}

GraphNode Graph::fill(const MemoryView& destination, uint32_t pattern, GraphNodeOptions options) {
  Device* device = options.device ? options.device : copying_device(destination, destination);
  const NodeId id = append(*definition_, options.name.empty() ? "fill" : options.name, device,
                           graph::FillWork{destination, pattern});
  return finish_node(id, options);
}

void Graph::add_edge(GraphNode before, GraphNode after) {
  const auto known = [&](const GraphNode& node) {
    return node.graph_ == definition_->id && node.index_ < definition_->nodes.size();
  };
  if (!known(before) || !known(after)) {
    keep_first(
        *definition_,
        Status(StatusCode::InvalidArgument,
               fmt::format("An edge joins nodes ({} and {}) that are not both of this graph, "
                           "which has {} nodes.",
                           static_cast<int32_t>(before.index_), static_cast<int32_t>(after.index_),
                           definition_->nodes.size())));
    return;
  }
  definition_->edges.push_back({before.index_, after.index_});
}

uint32_t Graph::add_variable(std::string name, uint32_t bytes) {
  definition_->variables.push_back({std::move(name), bytes});
  return static_cast<uint32_t>(definition_->variables.size() - 1);
}

Result<GraphExec> Graph::instantiate(std::span<Device* const> devices,
                                     const GraphOptions& options) const {
  DOPPEL_ASSIGN(auto replay, Replay::make(*definition_, devices, options));
  return GraphExec(std::move(replay));
}

Result<GraphExec> Graph::instantiate(Device& device, const GraphOptions& options) const {
  Device* const devices[] = {&device};
  return instantiate(devices, options);
}

GraphExec::GraphExec(std::shared_ptr<Replay> replay) : replay_(std::move(replay)) {}
GraphExec::GraphExec(GraphExec&&) noexcept = default;

GraphExec& GraphExec::operator=(GraphExec&& other) noexcept {
  GraphExec old(std::move(*this));
  replay_ = std::move(other.replay_);
  return *this;
}

GraphExec::~GraphExec() {
  if (replay_) static_cast<void>(replay_->drain());
}

Result<> GraphExec::set_buffer(GraphNode node, size_t index, const MemoryView& view) {
  DOPPEL_TRY(check());
  return replay_->set_buffer(node, index, view);
}

Result<> GraphExec::set_value(GraphNode node, size_t index, std::span<const std::byte> bytes) {
  DOPPEL_TRY(check());
  return replay_->set_value(node, index, bytes);
}

Result<> GraphExec::set_variable(uint64_t graph, uint32_t variable,
                                 std::span<const std::byte> bytes) {
  DOPPEL_TRY(check());
  return replay_->set_variable(graph, variable, bytes);
}

Result<> GraphExec::set_dims(GraphNode node, Dim3 grid, Dim3 workgroup) {
  DOPPEL_TRY(check());
  return replay_->set_dims(node, LaunchDims::from(grid, workgroup));
}

Result<> GraphExec::set_dims(GraphNode node, WorkItems grid, Dim3 workgroup) {
  DOPPEL_TRY(check());
  return replay_->set_dims(node, LaunchDims::from(grid, workgroup));
}

Result<> GraphExec::set_pattern(GraphNode node, uint32_t pattern) {
  DOPPEL_TRY(check());
  return replay_->set_pattern(node, pattern);
}

Result<> GraphExec::check() const {
  if (replay_) return {};
  return error(StatusCode::InvalidArgument, "The GraphExec has been moved from.");
}

GraphLaunch GraphExec::launch(const GraphLaunchOptions& options) {
  if (const auto whole = check(); !whole)
    return GraphLaunch(nullptr, std::unexpected(whole.error()));
  return GraphLaunch(replay_, replay_->launch(options));
}

GraphExecutor GraphExec::executor() const {
  if (!replay_) return GraphExecutor::Auto;
  return replay_->executor_kind();
}

Result<std::vector<GraphNodeProfile>> GraphExec::profile() const {
  DOPPEL_TRY(check());
  return replay_->profile();
}

std::vector<GraphStream> GraphExec::commands() const {
  if (!replay_) return {};
  return replay_->commands();
}

GraphLaunch::GraphLaunch(std::shared_ptr<Replay> replay, Result<uint64_t> launch)
    : replay_(std::move(replay)) {
  if (launch)
    launch_ = *launch;
  else
    status_ = std::unexpected(launch.error());
}

bool GraphLaunch::done() const {
  return !status_ || replay_->done(launch_);
}

Result<> GraphLaunch::wait(const WaitOptions& options) const {
  DOPPEL_TRY(status_);
  return replay_->wait(launch_, options);
}

}  // namespace doppel
