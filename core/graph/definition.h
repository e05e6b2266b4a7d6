// Definition: what a Graph has recorded: nodes with their work and memory accesses, explicit edges
// and variables. A GraphExec keeps its own copy and changes the work in it (new buffers, values,
// launch dimensions); which nodes there are and the edges stay.
//
// Plain data without locks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/graph/access_map.h"
#include "core/kernel_args.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/program.h"
#include "core/status.h"

namespace doppel {
class Device;
}

namespace doppel::graph {

struct KernelWork {
  Kernel kernel;
  KernelArgs args;
  LaunchDims dims;
};

/// `source` and `destination` have the same size.
struct CopyWork {
  MemoryView source;
  MemoryView destination;
};

/// Every aligned dword of `destination` becomes `pattern`.
struct FillWork {
  MemoryView destination;
  uint32_t pattern = 0;
};

using Work = std::variant<KernelWork, CopyWork, FillWork>;

/// The bytes that a node's work reads and those that it writes.
struct Accesses {
  std::vector<ByteRange> reads;
  std::vector<ByteRange> writes;
};

struct Node {
  std::string name;
  Device* device = nullptr;  // whose queue or engine runs it
  Work work;
  Accesses accesses;  // always those of `work`
};

struct Variable {
  std::string name;
  uint32_t size = 0;  // bytes
};

/// `before` is complete when `after` begins.
struct Edge {
  NodeId before = 0;
  NodeId after = 0;
};

struct Definition {
  uint64_t id = 0;  // unique to the graph
  std::vector<Node> nodes;
  std::vector<Edge> edges;  // explicit ones
  std::vector<Variable> variables;
  std::optional<Status> error;  // the first that recording met
};

/// "Node 3 (saxpy)".
std::string describe(const Definition& definition, NodeId node);

/// What `work` reads and writes. A kernel argument counts as the caller says, else as the kernel's
/// metadata says; a DevicePointer may reach all memory. Memory that the process gave to be pinned
/// is known by its host address, so that two pins of it are the same bytes.
Accesses accesses_of(const Work& work);

/// The memory that `work` names, one view for each buffer.
std::vector<MemoryView> memory_of(const Work& work);

/// InvalidArgument, OutOfRange or Unsupported if the work can't run, whatever the values of its
/// variables: kernel arguments that don't fit, launch limits, sizes and overlap of transfers. The
/// text begins with `who`.
Result<> check_work(const std::string& who, const Work& work);

}  // namespace doppel::graph
