// Replay: the state behind a GraphExec and its GraphLaunches: the graph's definition with its
// present buffers and values, the plan, the executor, and which nodes have changed since the last
// launch.
//
// Not thread-safe, except wait() and done(), which may be called while another thread waits too.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph.h"
#include "core/graph/definition.h"
#include "core/graph/executor.h"
#include "core/graph/plan.h"
#include "core/status.h"

namespace doppel::graph {

class Replay {
 public:
  /// See Graph::instantiate.
  static Result<std::shared_ptr<Replay>> make(const Definition& definition,
                                              std::span<Device* const> devices,
                                              const GraphOptions& options);

  // See GraphExec.
  Result<> set_buffer(GraphNode node, size_t index, const MemoryView& view);
  Result<> set_value(GraphNode node, size_t index, std::span<const std::byte> bytes);
  Result<> set_variable(uint64_t graph, uint32_t variable, std::span<const std::byte> bytes);
  Result<> set_dims(GraphNode node, const Result<LaunchDims>& dims);
  Result<> set_pattern(GraphNode node, uint32_t pattern);
  Result<std::vector<GraphNodeProfile>> profile() const;

  /// The number of the launch, from 1.
  Result<uint64_t> launch(const GraphLaunchOptions& options);
  bool done(uint64_t launch) const { return executor_->completed() >= launch; }
  Result<> wait(uint64_t launch, const WaitOptions& options) const;
  /// Waits for the last launch.
  Result<> drain() const { return wait(executor_->submitted(), {}); }

  GraphExecutor executor_kind() const { return kind_; }
  std::vector<GraphStream> commands() const { return executor_->commands(); }

 private:
  /// An argument that takes a variable.
  struct Use {
    NodeId node;
    size_t argument;
    friend auto operator<=>(const Use&, const Use&) = default;
  };
  struct VariableState {
    std::vector<Use> uses;
    bool is_set = false;
  };
  enum class Effect : uint8_t { Values, Buffers };

  Replay(const Definition& definition, const GraphOptions& options)
      : definition_(definition), options_(options), variables_(definition.variables.size()) {}

  Result<> check_nodes(std::span<Device* const> devices);
  Result<> check_mapped(NodeId node, const MemoryView& view) const;
  Result<> map_memory(NodeId node) const;
  Result<> bind_variables();
  Result<> choose_executor(std::span<Device* const> devices);

  Result<NodeId> resolve(GraphNode node) const;
  /// Lets `bind` point one of the node's buffers to `view`, if the device can reach that.
  Result<> rebind(NodeId node, const MemoryView& view, auto&& bind);
  Result<> rebind_transfer(NodeId node, MemoryView& side, const MemoryView& view);
  void mark_changed(NodeId node, Effect effect);
  /// Remembers the first error for the next launch; passes it on.
  Result<> refuse(Result<> result);

  static Result<> check_signals(const GraphLaunchOptions& options);
  Result<> check_alive() const;
  Result<> check_variables() const;
  Result<> apply_changes();

  Definition definition_;
  GraphOptions options_;
  GraphExecutor kind_ = GraphExecutor::Auto;
  Plan plan_;
  std::unique_ptr<Executor> executor_;

  std::vector<VariableState> variables_;
  std::set<Use> variable_arguments_;
  std::vector<NodeId> changed_, rebound_;      // since the last launch, in order of change
  std::vector<bool> is_changed_, is_rebound_;  // by node
  std::optional<Status> refused_;

  std::vector<std::weak_ptr<const void>> lifetimes_;  // of its devices, and queues it was given

  mutable std::mutex fault_mutex_;
  mutable std::optional<Status> fault_;  // the first DeviceFault that a wait met
};

}  // namespace doppel::graph
