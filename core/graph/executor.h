// Executor: carries a planned graph out on real queues. It encodes once, patches the nodes that
// change and submits launches; Replay decides what changes and when. One implementation for each
// way of using the hardware: Pm4Executor, AqlExecutor.
//
// Not thread-safe; several executors may submit to the same queues from different threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/graph.h"
#include "core/graph/definition.h"
#include "core/graph/plan.h"
#include "core/status.h"

namespace doppel::graph {

/// GPU counter values around one node.
struct Ticks {
  uint64_t start = 0;
  uint64_t end = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Takes over the node's present buffers, values, dimensions or pattern. The last launch must be
  /// complete. The work has been checked: it fits.
  virtual void patch(NodeId node, const Work& work) = 0;

  /// Submits one launch to all queues, or to none.
  virtual Result<> submit(const GraphLaunchOptions& options) = 0;

  /// Launches submitted, and how many of them are complete.
  virtual uint64_t submitted() const = 0;
  virtual uint64_t completed() const = 0;
  /// Returns once launch number `launch` (from 1) is complete.
  virtual Result<> wait(uint64_t launch, const WaitOptions& options) = 0;

  /// By step, of the last complete launch. Empty without GraphOptions::profile.
  virtual std::vector<Ticks> ticks() const = 0;

  virtual std::vector<GraphStream> commands() const = 0;

 protected:
  Executor() = default;
};

/// The queue that `options` gives for a planned one, else the device's default.
Result<Queue*> queue_for(const PlanQueue& planned, const GraphOptions& options);

}  // namespace doppel::graph
