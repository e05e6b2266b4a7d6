#include "core/trace_events.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace doppel {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerUs = 1000;

Json event(const char* phase, TraceEvents::Track track, double at_ns) {
  return {{"ph", phase}, {"pid", track.process}, {"tid", track.thread}, {"ts", at_ns / kNsPerUs}};
}

Json naming(const char* what, TraceEvents::Track track, std::string_view name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", track.process},
          {"tid", track.thread},
          {"args", {{"name", name}}}};
}

}  // namespace

TraceEvents::TraceEvents() : events_(std::make_unique<Json>(Json::array())) {}

TraceEvents::~TraceEvents() = default;

void TraceEvents::name_process(size_t process, std::string_view name) {
  events_->push_back(naming("process_name", {process, 0}, name));
}

void TraceEvents::name_track(Track track, std::string_view name) {
  events_->push_back(naming("thread_name", track, name));
}

void TraceEvents::add_slice(Track track, const Slice& slice, const Json& details) {
  Json added = event("X", track, slice.begin_ns);
  added["name"] = slice.name;
  added["cat"] = slice.category;
  added["dur"] = (slice.end_ns - slice.begin_ns) / kNsPerUs;
  added["args"] = details;
  events_->push_back(std::move(added));
}

void TraceEvents::add_arrow(Track from, double from_ns, Track to, double to_ns,
                            std::string_view name) {
  Json start = event("s", from, from_ns), end = event("f", to, to_ns);
  end["bp"] = "e";  // to the slice that encloses this moment
  for (Json* half : {&start, &end}) {
    (*half)["name"] = name;
    (*half)["cat"] = "signal";
    (*half)["id"] = arrows_;
    events_->push_back(std::move(*half));
  }
  ++arrows_;
}

std::string TraceEvents::json() const {
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", *events_}}.dump(
      1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace doppel
