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
  bool hazards = false;    // accesses of the same bytes that nothing orders
  bool coherence = false;  // reads that may see old bytes: a cache stands in between
  bool progress = false;   // waits that never end, with who could have ended them
  bool lifetime = false;   // memory and signals that are given back while work still needs them
  bool lint = false;       // packets and dispatches that hardware ignores, refuses or misreads
  /// Findings to silence, as verify::Suppressions::parse() takes them.
  std::string suppressions = {};
  /// The program doesn't use this library, so that what its host part does is unseen: it is taken
  /// to have seen, when it submits work, all that has been signalled by then.
  bool unseen_host = false;

  bool any() const { return hazards || coherence || progress || lifetime || lint; }
  static Verify all() {
    return {.hazards = true, .coherence = true, .progress = true, .lifetime = true, .lint = true};
  }

  /// "all", or names of checks after commas ("hazards,progress"). InvalidArgument, with the names
  /// there are, for others.
  static Result<Verify> parse(std::string_view checks);
};

}  // namespace doppel
