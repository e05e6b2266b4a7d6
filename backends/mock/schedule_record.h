// ScheduleRecord: the order of one run, as turns: who went on, and for how many steps. Kept in a
// JSON file:
//
//   {"machine": "mock:gfx1100,count=2", "what": "read-after-write: ...",
//    "turns": [["host", 1], ["queue 0 (pm4, gpu 0)", 12], ...]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace doppel {

struct Turn {
  std::string who;  // a block's name, or "host"
  uint64_t steps = 1;
  bool operator==(const Turn&) const = default;
};

struct ScheduleRecord {
  std::string machine;  // that it was run on
  std::string what;     // why it is kept; "" if unknown
  std::vector<Turn> turns;

  /// The next step is that one's.
  void add(std::string_view who);

  std::string to_json() const;
  /// InvalidArgument, with what is wrong.
  static Result<ScheduleRecord> parse(std::string_view json);
  /// As read_text_file(), and as parse(). save(): System if the file can't be written.
  static Result<ScheduleRecord> load(const std::string& path);
  Result<> save(const std::string& path) const;
};

}  // namespace doppel
