// Random graphs as data: made from a seed, run on devices through Graph, computed by a sequential
// oracle on the CPU, shrunk to a small one that still fails, and printed as text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/graph.h"
#include "core/verify/verify.h"
#include "core/status.h"

namespace doppel {
/// How GoogleTest names a test parameter.
inline void PrintTo(GraphExecutor executor, std::ostream* out) {
  *out << to_string(executor);
}
}  // namespace doppel
namespace doppel::test {

/// Words [offset, offset + words of the node) of a buffer.
struct Range {
  uint32_t buffer = 0;
  uint32_t offset = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class NodeKind : uint8_t { Affine, Accumulate, Copy, Fill };

struct NodeSpec {
  NodeKind kind = NodeKind::Affine;
  uint32_t device = 0;  // whose queue or engine
  uint32_t words = 0;
  Range in, out;
  uint32_t factor = 0, addend = 0;  // Affine; Fill: the pattern
  uint32_t workgroup = 32;          // kernels
  std::vector<uint32_t> after;      // explicit edges
};

/// What one more launch changes about one node.
struct ChangeSpec {
  uint32_t node = 0;
  NodeSpec now;  // same kind, device, words (of transfers) and edges
};

struct GraphSpec {
  uint32_t devices = 1;
  GraphExecutor executor = GraphExecutor::Pm4Sdma;
  uint32_t buffers = 4;  // buffer b belongs to device b % devices
  std::vector<NodeSpec> nodes;
  std::vector<std::vector<ChangeSpec>> launches;  // the first one changes nothing
};

/// Where a buffer lies: one in the VRAM of each device, then some of every kind.
MemoryDomain domain_of(const GraphSpec& spec, uint32_t buffer);

inline constexpr uint32_t kBufferWords = 256;
using Memory = std::vector<std::vector<uint32_t>>;  // by buffer

GraphSpec random_graph(uint64_t seed, uint32_t devices, GraphExecutor executor);
std::string to_string(const GraphSpec& spec);

/// What the buffers hold before the first launch.
Memory initial_memory(const GraphSpec& spec);

/// Runs nodes one after another.
void run_in_order(std::span<const NodeSpec> nodes, Memory& memory);

/// A bug of the planner, as if: to see that such a bug is found and shrunk.
enum class Defect : uint8_t {
  None,
  ForgetsWrites,  // kernels' outputs count as inputs, so that edges are missing
};

/// Devices with the graph tests' kernels loaded.
class GraphMachine {
 public:
  /// `name` as open_devices() takes it.
  static Result<GraphMachine> open(std::string_view name, const Verify& verify = {});

  /// Runs the graph launch by launch and compares the memory with the oracle after each: returns
  /// what is wrong first, or "". A launch that refuses aliasing buffers is repeated with the old
  /// ones; `refused` counts these.
  std::string check(const GraphSpec& spec, uint32_t* refused = nullptr,
                    Defect defect = Defect::None);

  std::span<const std::unique_ptr<Device>> devices() const { return devices_; }
  Result<Kernel> kernel(std::string_view name, uint32_t device) const {
    return programs_[device].kernel(name);
  }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Program> programs_;
};

/// The smallest graph that `fails`, found by leaving things out of `spec` one at a time.
GraphSpec shrink(GraphSpec spec, const std::function<bool(const GraphSpec&)>& fails);

}  // namespace doppel::test
