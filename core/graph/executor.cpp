#include "core/graph/executor.h"

#include <algorithm>

#include "core/device.h"

namespace doppel::graph {

Result<Queue*> queue_for(const PlanQueue& planned, const GraphOptions& options) {
  if (std::ranges::find(options.queues, nullptr) != options.queues.end()) {
    return error(StatusCode::InvalidArgument, "One of the graph's queues (GraphOptions) is none.");
  }
  const auto given = std::ranges::find_if(options.queues, [&](const Queue* queue) {
    return &queue->device() == planned.device && queue->kind() == planned.kind;
  });
  if (given != options.queues.end()) return *given;
  return planned.device->default_queue(planned.kind);
}

}  // namespace doppel::graph
