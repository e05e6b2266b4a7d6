#include "core/graph/replay.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/device.h"
#include "core/errors.h"
#include "core/graph/aql_executor.h"
#include "core/graph/binding_check.h"
#include "core/graph/pm4_executor.h"

namespace doppel::graph {
namespace {

/// Auto's choice. A device without PM4 queues refuses them for good.
Result<GraphExecutor> preferred_executor(std::span<Device* const> devices,
                                         const GraphOptions& options) {
  for (Device* device : devices) {
    const auto queue = queue_for({device, QueueKind::Pm4, {}}, options);
    if (queue) continue;
    if (queue.error().code() == StatusCode::Unsupported) return GraphExecutor::Aql;
    return std::unexpected(queue.error());
  }
  return GraphExecutor::Pm4Sdma;
}

}  // namespace

Result<std::shared_ptr<Replay>> Replay::make(const Definition& definition,
                                             std::span<Device* const> devices,
                                             const GraphOptions& options) {
  if (definition.error) return std::unexpected(*definition.error);
  if (definition.nodes.empty()) return invalid("The graph is empty: it has no nodes to run.");
  std::shared_ptr<Replay> replay(new Replay(definition, options));
  for (const Device* device : devices) {
    if (device == nullptr) return invalid("One of the devices to instantiate for is none.");
    replay->lifetimes_.push_back(device->lifetime());
  }
  for (const Queue* queue : options.queues) {
    if (queue != nullptr) replay->lifetimes_.push_back(queue->lifetime());
  }
  DOPPEL_TRY(replay->check_nodes(devices));
  DOPPEL_TRY(replay->bind_variables());
  DOPPEL_TRY(replay->choose_executor(devices));
  replay->is_changed_.resize(definition.nodes.size());
  replay->is_rebound_.resize(definition.nodes.size());
  return replay;
}

Result<> Replay::check_nodes(std::span<Device* const> devices) {
  for (NodeId id = 0; id < definition_.nodes.size(); ++id) {
    const Node& node = definition_.nodes[id];
    if (std::ranges::find(devices, node.device) == devices.end()) {
      return invalid(
          fmt::format("{} runs on a device that the graph is not instantiated for "
                      "({} devices are given).",
                      describe(definition_, id), devices.size()));
    }
    DOPPEL_TRY(check_work(describe(definition_, id), node.work));
    DOPPEL_TRY(map_memory(id));
  }
  return {};
}

Result<> Replay::check_mapped(NodeId id, const MemoryView& view) const {
  Device& device = *definition_.nodes[id].device;
  if (view.allocation == nullptr || device.is_mapped(view)) return {};
  return invalid(
      fmt::format("{} reaches memory (va {:#x}, {} bytes) that is not mapped for {}: "
                  "map it with Device::map, or set GraphOptions::map_peers.",
                  describe(definition_, id), view.gpu_address, view.size, device.info().name));
}

Result<> Replay::map_memory(NodeId id) const {
  const Node& node = definition_.nodes[id];
  for (const MemoryView& view : memory_of(node.work)) {
    if (options_.map_peers && view.allocation != nullptr) {
      if (auto mapped = node.device->map(view); !mapped)
        return prefixed(describe(definition_, id), mapped.error());
    }
    DOPPEL_TRY(check_mapped(id, view));
  }
  return {};
}

Result<> Replay::bind_variables() {
  for (NodeId id = 0; id < definition_.nodes.size(); ++id) {
    auto* kernel = std::get_if<KernelWork>(&definition_.nodes[id].work);
    if (kernel == nullptr) continue;
    for (size_t index = 0; index < kernel->args.args().size(); ++index) {
      const KernelArgs::Arg& arg = kernel->args.args()[index];
      if (arg.kind != KernelArgs::Kind::Deferred) continue;
      if (arg.deferred_id >= variables_.size() ||
          definition_.variables[arg.deferred_id].size != arg.size) {
        return invalid(fmt::format("{} takes a variable of another graph as argument {}.",
                                   describe(definition_, id), index));
      }
      variables_[arg.deferred_id].uses.push_back({id, index});
      variable_arguments_.insert({id, index});
      DOPPEL_TRY(kernel->args.set_value(index, std::vector<std::byte>(arg.size)));
    }
  }
  return {};
}

Result<> Replay::choose_executor(std::span<Device* const> devices) {
  kind_ = options_.executor;
  if (kind_ == GraphExecutor::Auto) {
    DOPPEL_ASSIGN(kind_, preferred_executor(devices, options_));
  }
  const bool is_aql = kind_ == GraphExecutor::Aql;
  DOPPEL_ASSIGN(plan_, make_plan(definition_, is_aql ? QueueKind::Aql : QueueKind::Pm4));
  if (is_aql) {
    DOPPEL_ASSIGN(executor_, make_aql_executor(definition_, plan_, options_));
  } else {
    DOPPEL_ASSIGN(executor_, make_pm4_executor(definition_, plan_, options_));
  }
  return {};
}

Result<NodeId> Replay::resolve(GraphNode node) const {
  if (node.graph_ != definition_.id || node.index_ >= definition_.nodes.size()) {
    return invalid(fmt::format("The node ({}) is not of this graph, which has {} nodes.",
                               node.index_, definition_.nodes.size()));
  }
  return node.index_;
}

Result<> Replay::refuse(Result<> result) {
  if (!result && !refused_) refused_ = result.error();
  return result;
}

void Replay::mark_changed(NodeId node, Effect effect) {
  if (!is_changed_[node]) changed_.push_back(node);
  is_changed_[node] = true;
  if (effect != Effect::Buffers) return;
  if (!is_rebound_[node]) rebound_.push_back(node);
  is_rebound_[node] = true;
}

Result<> Replay::rebind(NodeId id, const MemoryView& view, auto&& bind) {
  Node& node = definition_.nodes[id];
  DOPPEL_TRY(check_mapped(id, view));
  if (auto bound = bind(); !bound) return prefixed(describe(definition_, id), bound.error());
  node.accesses = accesses_of(node.work);
  mark_changed(id, Effect::Buffers);
  return {};
}

Result<> Replay::rebind_transfer(NodeId id, MemoryView& side, const MemoryView& view) {
  if (view.size != side.size) {
    return invalid(fmt::format("{} transfers {} bytes; its new buffer has {}.",
                               describe(definition_, id), side.size, view.size));
  }
  return rebind(id, view, [&]() -> Result<> {
    side = view;
    return {};
  });
}

Result<> Replay::set_buffer(GraphNode handle, size_t index, const MemoryView& view) {
  const auto change = [&]() -> Result<> {
    DOPPEL_ASSIGN(const NodeId id, resolve(handle));
    Work& work = definition_.nodes[id].work;
    if (auto* kernel = std::get_if<KernelWork>(&work))
      return rebind(id, view, [&] { return kernel->args.set_buffer(index, view); });
    auto* copy = std::get_if<CopyWork>(&work);
    auto* fill = std::get_if<FillWork>(&work);
    if (copy && index == 0) return rebind_transfer(id, copy->source, view);
    if (copy && index == 1) return rebind_transfer(id, copy->destination, view);
    if (fill && index == 0) return rebind_transfer(id, fill->destination, view);
    return error(StatusCode::OutOfRange,
                 fmt::format("{} has no buffer {}.", describe(definition_, id), index));
  };
  return refuse(change());
}

Result<> Replay::set_value(GraphNode handle, size_t index, std::span<const std::byte> bytes) {
  const auto change = [&]() -> Result<> {
    DOPPEL_ASSIGN(const NodeId id, resolve(handle));
    const std::string who = describe(definition_, id);
    auto* kernel = std::get_if<KernelWork>(&definition_.nodes[id].work);
    if (kernel == nullptr) return invalid(fmt::format("{} is no kernel and takes no values.", who));
    if (variable_arguments_.contains({id, index})) {
      return invalid(
          fmt::format("{} takes a variable as argument {}: set the variable.", who, index));
    }
    if (auto fits = kernel->args.set_value(index, bytes); !fits) return prefixed(who, fits.error());
    mark_changed(id, Effect::Values);
    return {};
  };
  return refuse(change());
}

Result<> Replay::set_variable(uint64_t graph, uint32_t variable, std::span<const std::byte> bytes) {
  if (graph != definition_.id || variable >= variables_.size())
    return refuse(invalid(fmt::format("The variable ({}) is not of this graph.", variable)));
  VariableState& state = variables_[variable];
  for (const Use& use : state.uses) {
    auto& kernel = std::get<KernelWork>(definition_.nodes[use.node].work);
    DOPPEL_TRY(refuse(kernel.args.set_value(use.argument, bytes)));
    mark_changed(use.node, Effect::Values);
  }
  state.is_set = true;
  return {};
}

Result<> Replay::set_dims(GraphNode handle, const Result<LaunchDims>& dims) {
  const auto change = [&]() -> Result<> {
    DOPPEL_ASSIGN(const NodeId id, resolve(handle));
    const std::string who = describe(definition_, id);
    auto* kernel = std::get_if<KernelWork>(&definition_.nodes[id].work);
    if (kernel == nullptr)
      return invalid(fmt::format("{} is no kernel and has no launch dimensions.", who));
    if (!dims) return prefixed(who, dims.error());
    const KernelInfo& info = kernel->kernel.info();
    const uint32_t lds = group_segment_bytes(info, kernel->args);
    if (auto fits = check_launch(info, kernel->kernel.target(), *dims, lds); !fits)
      return prefixed(who, fits.error());
    kernel->dims = *dims;
    mark_changed(id, Effect::Values);
    return {};
  };
  return refuse(change());
}

Result<> Replay::set_pattern(GraphNode handle, uint32_t pattern) {
  const auto change = [&]() -> Result<> {
    DOPPEL_ASSIGN(const NodeId id, resolve(handle));
    auto* fill = std::get_if<FillWork>(&definition_.nodes[id].work);
    if (fill == nullptr)
      return invalid(fmt::format("{} is no fill and has no pattern.", describe(definition_, id)));
    fill->pattern = pattern;
    mark_changed(id, Effect::Values);
    return {};
  };
  return refuse(change());
}

Result<> Replay::check_variables() const {
  for (size_t index = 0; index < variables_.size(); ++index) {
    const VariableState& state = variables_[index];
    if (state.is_set || state.uses.empty()) continue;
    const Use& use = state.uses.front();
    return invalid(fmt::format("The variable {} has no value; {} takes it as argument {}.",
                               definition_.variables[index].name, describe(definition_, use.node),
                               use.argument));
  }
  return {};
}

Result<> Replay::apply_changes() {
  // Only now: the two sides of a copy are bound one after the other.
  for (NodeId node : rebound_)
    if (!std::holds_alternative<KernelWork>(definition_.nodes[node].work))
      DOPPEL_TRY(check_work(describe(definition_, node), definition_.nodes[node].work));
  if (!rebound_.empty()) DOPPEL_TRY(check_bindings(definition_, plan_, rebound_));
  if (changed_.empty()) return {};
  DOPPEL_TRY(drain());
  for (NodeId node : changed_) {
    executor_->patch(node, definition_.nodes[node].work);
    is_changed_[node] = is_rebound_[node] = false;
  }
  changed_.clear();
  rebound_.clear();
  return {};
}

Result<uint64_t> Replay::launch(const GraphLaunchOptions& options) {
  if (refused_) {
    const Status why = *std::exchange(refused_, std::nullopt);
    return std::unexpected(why);
  }
  DOPPEL_TRY(check_alive());
  DOPPEL_TRY(check_signals(options));
  DOPPEL_TRY(check_variables());
  DOPPEL_TRY(apply_changes());
  DOPPEL_TRY(executor_->submit(options));
  return executor_->submitted();
}

Result<> Replay::wait(uint64_t launch, const WaitOptions& options) const {
  if (launch == 0) return {};
  Result<> result = executor_->wait(launch, options);
  if (!result && result.error().code() == StatusCode::DeviceFault) {
    const std::scoped_lock lock(fault_mutex_);
    if (!fault_) fault_ = result.error();
  }
  return result;
}

Result<> Replay::check_signals(const GraphLaunchOptions& options) {
  if ((!options.wait || *options.wait) && (!options.signal || *options.signal)) return {};
  return invalid("A signal of the launch is empty: moved from or never made.");
}

Result<> Replay::check_alive() const {
  if (std::ranges::any_of(lifetimes_, [](const auto& each) { return each.expired(); })) {
    return error(StatusCode::Unavailable,
                 "A device of the graph, or a queue that it was given, has been destroyed.");
  }
  const std::scoped_lock lock(fault_mutex_);
  return fault_ ? Result<>(std::unexpected(*fault_)) : Result<>();
}

Result<std::vector<GraphNodeProfile>> Replay::profile() const {
  if (!options_.profile)
    return invalid("The graph is not instantiated with GraphOptions::profile.");
  if (executor_->completed() == 0)
    return invalid("No launch of the graph is complete, so that there is nothing to profile.");
  const std::vector<Ticks> ticks = executor_->ticks();
  std::vector<GraphNodeProfile> profiles(definition_.nodes.size());
  for (const PlanQueue& queue : plan_.queues) {
    if (queue.steps.empty()) continue;
    DOPPEL_ASSIGN(const ClockFit clock, queue.device->clock_fit());
    for (StepIndex index : queue.steps) {
      const NodeId node = plan_.steps[index].node;
      std::vector<NodeId> waits_for;
      for (StepIndex producer : plan_.steps[index].waits)
        waits_for.push_back(plan_.steps[producer].node);
      profiles[node] = {.node = node,
                        .name = definition_.nodes[node].name,
                        .device = queue.device,
                        .queue = queue.kind,
                        .start_ns = clock.to_host_ns(ticks[index].start),
                        .end_ns = clock.to_host_ns(ticks[index].end),
                        .waits_for = std::move(waits_for)};
    }
  }
  return profiles;
}

}  // namespace doppel::graph
