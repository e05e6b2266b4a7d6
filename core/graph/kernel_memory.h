// KernelMemory: the kernel arguments of a graph's nodes, one block of GPU-visible memory a queue,
// written by the host between launches; for kernels that read their dispatch packet from a PM4
// queue, also that packet.
//
// Not thread-safe. Must outlive the launches that read it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/command_encoder.h"
#include "core/graph/definition.h"
#include "core/graph/plan.h"
#include "core/memory.h"
#include "core/queue.h"
#include "core/status.h"

namespace doppel::graph {

class KernelMemory {
 public:
  /// Allocates and fills the memory of all kernel nodes. `queues` are the plan's, by QueueIndex.
  static Result<KernelMemory> make(const Definition& definition, const Plan& plan,
                                   std::span<Queue* const> queues);

  /// Writes the node's arguments (and dispatch packet) as `work` has them. The work has been
  /// checked: it fits. No launch that reads them may be running.
  void write(NodeId node, const KernelWork& work);

  /// How to launch the node.
  DispatchCommand command(NodeId node, const KernelWork& work) const;

 private:
  /// Where a node's memory lies in its queue's block.
  struct Slot {
    const Allocation* block = nullptr;
    uint64_t kernarg = 0;  // bytes from the block's start
    uint64_t packet = 0;   // 0: the kernel does not read it
    HiddenArgs hidden;     // but for what depends on the launch
    ScratchLease scratch;
    uint64_t address(uint64_t offset) const { return block->gpu_address() + offset; }
  };

  Result<> add_queue(const Definition& definition, const Plan& plan, QueueIndex index,
                     Queue& queue);

  std::vector<std::unique_ptr<Allocation>> blocks_;  // one for each queue that runs kernels
  std::vector<Slot> slots_;                          // by node
};

}  // namespace doppel::graph
