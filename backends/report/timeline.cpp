#include "backends/report/timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/trace_events.h"

namespace doppel::report {
namespace {

/// Kernel tracks that a queue may have: a queue runs fewer at once.
constexpr size_t kTracksPerActor = 256;

class Tracks {
 public:
  Tracks(const Run& run, TraceEvents& events) : run_(run), events_(events) {}

  TraceEvents::Track of(uint32_t actor, uint32_t track) {
    const Actor& whose = run_.actors[actor];
    const auto [process, is_new] = processes_.try_emplace(whose.group, processes_.size());
    if (is_new) events_.name_process(process->second, whose.group);
    const TraceEvents::Track place{process->second, actor * kTracksPerActor + track};
    if (named_.insert(place.thread).second) {
      events_.name_track(place, track == 0 ? whose.name : fmt::format("{}: kernels", whose.name));
    }
    return place;
  }

 private:
  const Run& run_;
  TraceEvents& events_;
  std::map<std::string, size_t> processes_;  // by group
  std::set<size_t> named_;
};

}  // namespace

uint64_t origin_ns(const Run& run) {
  const auto first = std::ranges::min_element(run.spans, {}, &Span::begin_ns);
  return first == run.spans.end() ? 0 : first->begin_ns;
}

std::string timeline_json(const Run& run) {
  TraceEvents events;
  Tracks tracks(run, events);
  const uint64_t origin = origin_ns(run);
  const auto time = [&](uint64_t ns) { return static_cast<double>(ns - origin); };
  for (const Span& span : run.spans) {
    events.add_slice(tracks.of(span.actor, span.track),
                     {span.name, to_string(span.kind), time(span.begin_ns), time(span.end_ns)},
                     {{"detail", span.detail}});
  }
  for (const Arrow& arrow : run.arrows) {
    events.add_arrow(tracks.of(arrow.from, 0), time(arrow.from_ns), tracks.of(arrow.to, 0),
                     time(arrow.to_ns), "signal");
  }
  return events.json();
}

}  // namespace doppel::report
