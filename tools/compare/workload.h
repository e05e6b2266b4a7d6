// Workload: a graph that runs the same on every device, with what its result must be: small, of
// integers, built from the selftest's kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/graph.h"

namespace doppel::compare {

/// What a workload leaves behind.
struct Prepared {
  struct Buffer {
    std::string name;
    Allocation memory;
  };
  std::vector<Buffer> buffers;
  Graph graph;
  GraphNode variable;  // a kernel whose third argument changes between the launches
};

struct Workload {
  std::string_view name;
  std::string_view what;
  Result<Prepared> (*prepare)(Device& device, const Program& program);
};

/// All of them, by name.
const std::vector<Workload>& workloads();

}  // namespace doppel::compare
