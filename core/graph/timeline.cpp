#include "core/graph/timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/device.h"

namespace doppel {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerUs = 1000;

/// Where an event is drawn: a process and one of its threads, as the format calls them.
struct Track {
  size_t process = 0;
  size_t thread = 0;
};

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
      Json slice = event("X", node, node.start_ns);
      slice["name"] = node.name;
      slice["cat"] = launch.name;
      slice["dur"] = (node.end_ns - node.start_ns) / kNsPerUs;
      slice["args"] = {{"launch", launch.name}, {"node", node.node}};
      events_.push_back(std::move(slice));
      for (uint32_t producer : node.waits_for) add_arrow(launch.nodes[producer], node);
    }
  }

  std::string json() const {
    return Json{{"displayTimeUnit", "ns"}, {"traceEvents", events_}}.dump(
        1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  /// The node's track; names it when it is new.
  Track track_of(const GraphNodeProfile& node) {
    const auto known = std::ranges::find(devices_, node.device);
    const auto process = static_cast<size_t>(known - devices_.begin());
    if (known == devices_.end()) {
      devices_.push_back(node.device);
      name_track("process_name", {process, 0}, node.device->info().name);
    }
    const Track track{process, static_cast<size_t>(node.queue)};
    if (!named_[{track.process, track.thread}]) {
      named_[{track.process, track.thread}] = true;
      name_track("thread_name", track, std::string(to_string(node.queue)) + " queue");
    }
    return track;
  }

  void name_track(const char* what, Track track, const std::string& name) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", track.process},
                       {"tid", track.thread},
                       {"args", {{"name", name}}}});
  }

  Json event(const char* phase, const GraphNodeProfile& node, double at_ns) {
    const Track track = track_of(node);
    return {{"ph", phase},
            {"pid", track.process},
            {"tid", track.thread},
            {"ts", (at_ns - origin_ns_) / kNsPerUs}};
  }

  /// From where the signal is stored to where somebody waits for it.
  void add_arrow(const GraphNodeProfile& producer, const GraphNodeProfile& consumer) {
    Json start = event("s", producer, producer.end_ns),
         end = event("f", consumer, consumer.start_ns);
    end["bp"] = "e";  // to the slice that encloses this moment
    for (Json* half : {&start, &end}) {
      (*half)["name"] = "signal";
      (*half)["cat"] = "signal";
      (*half)["id"] = arrows_;
      events_.push_back(std::move(*half));
    }
    ++arrows_;
  }

  double origin_ns_ = 0;
  std::vector<const Device*> devices_;  // by process
  std::map<std::pair<size_t, size_t>, bool> named_;
  size_t arrows_ = 0;
  Json events_ = Json::array();
};

}  // namespace

std::string timeline_json(std::span<const TimelineLaunch> launches) {
  Timeline timeline(launches);
  for (const TimelineLaunch& launch : launches) timeline.add(launch);
  return timeline.json();
}

}  // namespace doppel
