// run_scenario(): a program on fresh GPUs, on one schedule.
#pragma once

#include <string>

#include "backends/explore/explore.h"
#include "emulator/schedule.h"

namespace doppel::explorer {

struct ScenarioRun {
  Result<Bytes> result;
  verify::FindingLog findings;
};

/// The program, and after it all that it has left running. An error if there are no such GPUs; the
/// program's own is the run's result.
Result<ScenarioRun> run_scenario(const Scenario& scenario, const std::string& machine,
                                 const Verify& verify, emu::Schedule& schedule);

}  // namespace doppel::explorer
