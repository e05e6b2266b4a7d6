// TraceEvents: the trace event format of Chrome and Perfetto (https://ui.perfetto.dev,
// chrome://tracing): processes with tracks, slices of time on them, and arrows between slices.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace doppel {

class TraceEvents {
 public:
  /// Where an event is drawn: a process and one of its threads, as the format calls them.
  struct Track {
    size_t process = 0;
    size_t thread = 0;
  };
  struct Slice {
    std::string_view name;
    std::string_view category;
    double begin_ns = 0, end_ns = 0;  // after the origin
  };

  TraceEvents();
  ~TraceEvents();

  void name_process(size_t process, std::string_view name);
  void name_track(Track track, std::string_view name);
  /// `details` is an object, shown with the slice.
  void add_slice(Track track, const Slice& slice, const nlohmann::ordered_json& details);
  /// From a moment on one track to a moment on another, each inside of a slice.
  void add_arrow(Track from, double from_ns, Track to, double to_ns, std::string_view name);

  /// The file. What is no UTF-8 is replaced.
  std::string json() const;

 private:
  std::unique_ptr<nlohmann::ordered_json> events_;
  size_t arrows_ = 0;
};

}  // namespace doppel
