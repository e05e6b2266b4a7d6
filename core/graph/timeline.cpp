#include "core/graph/timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/device.h"
#include "core/trace_events.h"

namespace doppel {
namespace {

class Timeline {
 public:
  explicit Timeline(std::span<const TimelineLaunch> launches) {
    origin_ns_ = std::numeric_limits<double>::max();
    for (const TimelineLaunch& launch : launches)
      for (const GraphNodeProfile& node : launch.nodes)
        origin_ns_ = std::min(origin_ns_, node.start_ns);
  }

  void add(const TimelineLaunch& launch) {
    for (const GraphNodeProfile& node : launch.nodes) {
      events_.add_slice(
          track_of(node),
          {node.name, launch.name, node.start_ns - origin_ns_, node.end_ns - origin_ns_},
          {{"launch", launch.name}, {"node", node.node}});
      for (uint32_t producer : node.waits_for) add_arrow(launch.nodes[producer], node);
    }
  }

  std::string json() const { return events_.json(); }

 private:
  /// The node's track; names it when it is new.
  TraceEvents::Track track_of(const GraphNodeProfile& node) {
    const auto known = std::ranges::find(devices_, node.device);
    const auto process = static_cast<size_t>(known - devices_.begin());
    if (known == devices_.end()) {
      devices_.push_back(node.device);
      events_.name_process(process, node.device->info().name);
    }
    const TraceEvents::Track track{process, static_cast<size_t>(node.queue)};
    if (!std::exchange(named_[{track.process, track.thread}], true)) {
      events_.name_track(track, std::string(to_string(node.queue)) + " queue");
    }
    return track;
  }

  /// From where the signal is stored to where somebody waits for it.
  void add_arrow(const GraphNodeProfile& producer, const GraphNodeProfile& consumer) {
    events_.add_arrow(track_of(producer), producer.end_ns - origin_ns_, track_of(consumer),
                      consumer.start_ns - origin_ns_, "signal");
  }

  double origin_ns_ = 0;
  std::vector<const Device*> devices_;  // by process
  std::map<std::pair<size_t, size_t>, bool> named_;
  TraceEvents events_;
};

}  // namespace

std::string timeline_json(std::span<const TimelineLaunch> launches) {
  Timeline timeline(launches);
  for (const TimelineLaunch& launch : launches) timeline.add(launch);
  return timeline.json();
}

}  // namespace doppel
