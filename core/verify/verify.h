// Verify: which checks watch an emulated device. Off by default: a device without them pays
// nothing.
//
//   auto gpu = open_device("mock:gfx1100", {.verify = {.hazards = true, .progress = true}});
//
// Findings are read with Device::findings(); core/verify/gtest.h makes them test failures.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace doppel {

struct Verify {
  bool hazards = false;   // accesses of the same bytes that nothing orders
  bool progress = false;  // waits that never end, with who could have ended them
  std::string suppressions =
      {};  // findings to silence, as verify::Suppressions::parse() takes them

  bool any() const { return hazards || progress; }
  static Verify all() { return {.hazards = true, .progress = true}; }

  /// "all", or names of checks after commas ("hazards,progress"). InvalidArgument, with the names
  /// there are, for others.
  static Result<Verify> parse(std::string_view checks);
};

}  // namespace doppel
