// Reversals: pairs of steps of one run whose order could have been the other, and would have made
// a difference. What a run says about the runs that are still needed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emulator/verify/step_log.h"

namespace doppel::explorer {

/// At the step `at`, one of `initials` has to be tried; the first is the best.
struct Reversal {
  size_t at = 0;
  std::vector<verify::ActorNumber> initials;
};

std::vector<Reversal> reversals(std::span<const verify::Step> steps);

}  // namespace doppel::explorer
