// Graph profiles as a timeline for https://ui.perfetto.dev and chrome://tracing (the trace event
// format): a process a GPU, a track a queue, a slice a node, and arrows from each node to those
// that wait for it on another queue.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph.h"

namespace doppel {

/// One launch of a graph, as GraphExec::profile() tells it.
struct TimelineLaunch {
  std::string name;  // of the graph or the step: groups the slices
  std::vector<GraphNodeProfile> nodes;
};

/// The timeline as JSON. Times count from the earliest start of all launches.
std::string timeline_json(std::span<const TimelineLaunch> launches);

}  // namespace doppel
