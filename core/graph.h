// Graph: work for one or several GPUs, recorded once and launched many times with other buffers,
// values and launch dimensions.
//
// A Graph holds nodes (kernels, copies, fills). Which must precede which comes from the bytes that
// they read and write, in the order of recording: a reader follows the last writer, a writer the
// last writer and the readers since; add_edge() adds what memory does not show. instantiate()
// checks everything, plans queues and waits, and encodes once; GraphExec patches what changes.
//
// Ownership: nodes keep their programs alive; buffers, signals and devices belong to the caller and
// must outlive the GraphExec. A GraphExec is independent of its Graph.
// Threads: Graph and GraphExec are not thread-safe; different GraphExecs may be launched from
// different threads, also on the same devices.
// Order: no node begins before everything that was submitted earlier to any of the graph's queues
// is complete; what is submitted later to one of these queues begins after that queue's nodes.
// Launches of one GraphExec never overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/command_stream.h"
#include "core/kernel_args.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/program.h"
#include "core/queue.h"
#include "core/signal.h"
#include "core/status.h"

namespace doppel {

class Device;
class GraphExec;

namespace graph {
struct Definition;
class Replay;
}  // namespace graph

/// Names a node of one graph, also in the GraphExecs made of it. A default-constructed one, or one
/// of another graph, is refused.
class GraphNode {
 public:
  GraphNode() = default;
  /// The node's number in the order of recording.
  uint32_t index() const { return index_; }

 private:
  friend class Graph;
  friend class graph::Replay;
  GraphNode(uint64_t graph, uint32_t index) : graph_(graph), index_(index) {}

  uint64_t graph_ = 0;
  uint32_t index_ = ~0u;
};

/// A kernel argument whose value is set on the GraphExec, for all nodes that take it at once.
template <class T>
class GraphVariable {
 public:
  operator DeferredValue() const {  // NOLINT: args(x, y, n)
    return {.id = index_, .size = sizeof(T), .align = alignof(T)};
  }

 private:
  friend class Graph;
  friend class GraphExec;
  GraphVariable(uint64_t graph, uint32_t index) : graph_(graph), index_(index) {}

  uint64_t graph_;
  uint32_t index_;
};

struct GraphNodeOptions {
  std::string name = {};  // for errors, profiles and dumps; else the kernel's, or "copy"
  std::vector<GraphNode> after = {};  // explicit edges
  /// Copies and fills: the device whose SDMA engine does it. By default the owner of the source,
  /// or of the destination if the source is not in VRAM.
  Device* device = nullptr;
};

/// How a graph is executed.
enum class GraphExecutor : uint8_t {
  Auto,     // Pm4Sdma where every device has PM4 queues, else Aql
  Pm4Sdma,  // bound indirect buffers on a PM4 compute queue and an SDMA queue a device
  Aql,      // AQL packets for kernels, SDMA for transfers, HSA signals between them
};
std::string_view to_string(GraphExecutor executor);

struct GraphOptions {
  GraphExecutor executor = GraphExecutor::Auto;
  /// Stamp each node's start and end: see GraphExec::profile().
  bool profile = false;
  /// Map the memory of every node for the device that runs it. Otherwise memory of another device
  /// must have been mapped before (Device::map).
  bool map_peers = false;
  /// Used in the place of the default queues of their device and kind: for rings of another size,
  /// or when a fault has stopped the default one. They must outlive the GraphExec.
  std::vector<Queue*> queues = {};
  /// Where Pm4Sdma begins to count launches. Its signals carry twice the count, in 31 bits, and
  /// start again at 0 after launch 2^30 - 1; tests begin close to it.
  uint32_t launch_count = 0;
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Recording. Nodes run on the device that the kernel's program is loaded on, or whose engine
  // transfers. The first error sticks and comes out of instantiate().

  /// A launch. `grid` counts workgroups (Dim3) or work-items (WorkItems).
  GraphNode kernel(Result<Kernel> kernel, KernelArgs args, Dim3 grid, Dim3 workgroup,
                   GraphNodeOptions options = {});
  GraphNode kernel(Result<Kernel> kernel, KernelArgs args, WorkItems grid, Dim3 workgroup,
                   GraphNodeOptions options = {});
  /// Copies all of `source` to `destination`, which has the same size and does not overlap it.
  GraphNode copy(const MemoryView& source, const MemoryView& destination,
                 GraphNodeOptions options = {});
  /// Repeats a 32-bit pattern; the destination is whole dwords.
  GraphNode fill(const MemoryView& destination, uint32_t pattern, GraphNodeOptions options = {});

  /// `before` is complete when `after` begins; either may be recorded first.
  void add_edge(GraphNode before, GraphNode after);

  /// Declares a value to be passed among args(). It must be set before the first launch.
  template <class T>
  GraphVariable<T> variable(std::string name) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {id(), add_variable(std::move(name), sizeof(T))};
  }

  /// Nodes recorded.
  size_t size() const;

  /// Checks, plans and encodes. InvalidArgument and its like name the node: recording errors, an
  /// empty graph, a cycle, memory that the device does not map, a device that is not among
  /// `devices`, arguments and launch dimensions that don't fit. Exhausted if the graph does not fit
  /// into a queue.
  Result<GraphExec> instantiate(std::span<Device* const> devices,
                                const GraphOptions& options = {}) const;
  Result<GraphExec> instantiate(Device& device, const GraphOptions& options = {}) const;

 private:
  template <class Grid>
  GraphNode add_kernel(Result<Kernel> kernel, KernelArgs args, Grid grid, Dim3 workgroup,
                       GraphNodeOptions options);
  GraphNode finish_node(uint32_t node, const GraphNodeOptions& options);
  uint64_t id() const;
  uint32_t add_variable(std::string name, uint32_t bytes);

  std::unique_ptr<graph::Definition> definition_;
};

/// Signals that order a launch with other work.
struct GraphLaunchOptions {
  const Signal* wait = nullptr;  // no node begins before its value is >= wait_value
  uint64_t wait_value = 0;
  const Signal* signal = nullptr;  // becomes signal_value when the last node has ended
  uint64_t signal_value = 0;
};

/// One launch, or the reason why there is none. Copyable; outlives its GraphExec.
class GraphLaunch {
 public:
  /// Ok if the launch was submitted.
  Result<> status() const { return status_; }
  /// Whether all nodes have ended. True for a launch that was not submitted.
  bool done() const;
  /// Returns once all nodes have ended. Passes on why the launch was not submitted, and what the
  /// wait met: DeviceFault, Deadlock, Timeout.
  Result<> wait(const WaitOptions& options = {}) const;

 private:
  friend class GraphExec;
  GraphLaunch(std::shared_ptr<graph::Replay> replay, Result<uint64_t> launch);

  std::shared_ptr<graph::Replay> replay_;
  uint64_t launch_ = 0;
  Result<> status_;
};

/// When one node ran, in nanoseconds of the host's clock (Device::clock_fit).
struct GraphNodeProfile {
  uint32_t node = 0;
  std::string name;
  Device* device = nullptr;
  QueueKind queue = QueueKind::Pm4;
  double start_ns = 0;
  double end_ns = 0;
  /// Nodes on other queues whose signals this one waited for; queue order says the rest.
  std::vector<uint32_t> waits_for;
};

/// The commands that a queue gets for every launch.
struct GraphStream {
  Device* device = nullptr;
  QueueKind queue = QueueKind::Pm4;
  CommandStream commands;
};

/// A graph ready to launch. Changes take effect with the next launch, which waits for the one
/// before if there are any. A change that is refused leaves the old value and makes the next launch
/// fail with the same error, so that nothing runs with values that the caller did not mean.
class GraphExec {
 public:
  GraphExec(GraphExec&&) noexcept;
  GraphExec& operator=(GraphExec&&) noexcept;
  /// Waits for the last launch.
  ~GraphExec();

  /// Points buffer `index` elsewhere: of a kernel's arguments; of a copy, 0 is the source and 1 the
  /// destination; of a fill, 0 is the destination. Transfers keep their size. The launch refuses
  /// buffers that alias where the recorded edges give no order.
  Result<> set_buffer(GraphNode node, size_t index, const MemoryView& view);

  /// Gives a kernel's argument `index` another value of the same size.
  template <class T>
  Result<> set_scalar(GraphNode node, size_t index, const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_convertible_v<T, MemoryView>);
    return set_value(node, index, std::as_bytes(std::span(&value, 1)));
  }
  template <class T>
  Result<> set(const GraphVariable<T>& variable, const std::type_identity_t<T>& value) {
    return set_variable(variable.graph_, variable.index_, std::as_bytes(std::span(&value, 1)));
  }
  /// A kernel's grid and workgroup, also where the kernel itself reads them.
  Result<> set_dims(GraphNode node, Dim3 grid, Dim3 workgroup);
  Result<> set_dims(GraphNode node, WorkItems grid, Dim3 workgroup);
  /// A fill's pattern.
  Result<> set_pattern(GraphNode node, uint32_t pattern);

  /// Submits all nodes, or none: the reason is then in the GraphLaunch. Waits only for ring space,
  /// and for the previous launch if something was changed (with AQL always). Once a launch has met
  /// a DeviceFault, later ones are refused with it: a stopped queue does not come back.
  GraphLaunch launch(const GraphLaunchOptions& options = {});

  /// Which executor runs it.
  GraphExecutor executor() const;

  /// One entry a node, by number, of the last completed launch. InvalidArgument unless the graph
  /// was instantiated with GraphOptions::profile and a launch is complete.
  Result<std::vector<GraphNodeProfile>> profile() const;

  /// What each queue is given, as it stands now.
  std::vector<GraphStream> commands() const;

 private:
  friend class Graph;
  explicit GraphExec(std::shared_ptr<graph::Replay> replay);
  /// InvalidArgument if it has been moved from.
  Result<> check() const;
  Result<> set_value(GraphNode node, size_t index, std::span<const std::byte> bytes);
  Result<> set_variable(uint64_t graph, uint32_t variable, std::span<const std::byte> bytes);

  std::shared_ptr<graph::Replay> replay_;
};

}  // namespace doppel
