// StepLog: the steps of one run: who went on, who else could have, and what was touched. Value
// type.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "emulator/verify/footprint.h"

namespace doppel::verify {

using ActorNumber = uint32_t;
inline constexpr ActorNumber kHostActor = 0;

struct Step {
  ActorNumber actor = kHostActor;
  std::vector<ActorNumber> enabled;  // who could have gone on; empty: nobody was asked
  Footprint touched;
  bool complete = true;  // `touched` is all of it: not a slice of a kernel that still runs
};

class StepLog {
 public:
  /// Begins the next step.
  void begin(ActorNumber actor, std::vector<ActorNumber> enabled) {
    steps_.push_back({actor, std::move(enabled), {}, true});
  }
  /// The current one; there is one.
  Step& current() { return steps_.back(); }
  Step& at(size_t step) { return steps_[step]; }

  size_t size() const { return steps_.size(); }
  std::span<const Step> steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

}  // namespace doppel::verify
