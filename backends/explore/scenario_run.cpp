#include "backends/explore/scenario_run.h"

#include "backends/mock/recorded_schedule.h"
#include "backends/open_device.h"

namespace doppel {
namespace explorer {

Result<ScenarioRun> run_scenario(const Scenario& scenario, const std::string& machine,
                                 const Verify& verify, emu::Schedule& schedule) {
  DOPPEL_ASSIGN(const auto gpus, open_devices(machine, {.verify = verify, .schedule = &schedule}));
  ScenarioRun run{scenario(gpus), {}};
  for (const auto& gpu : gpus) {
    const auto idle = gpu->synchronize();
    if (!idle && run.result) run.result = std::unexpected(idle.error());
  }
  DOPPEL_ASSIGN(run.findings, gpus.front()->findings());
  return run;
}

}  // namespace explorer

Result<Replay> replay(const Scenario& scenario, const ScheduleRecord& record,
                      const Verify& verify) {
  mock::RecordedSchedule schedule(record);
  Verify checks = verify;
  checks.hazards = true;
  DOPPEL_ASSIGN(explorer::ScenarioRun run,
                explorer::run_scenario(scenario, record.machine, checks, schedule));
  Replay replay{std::move(run.result), std::move(run.findings), schedule.went(),
                schedule.diverged()};
  replay.schedule.machine = record.machine;
  return replay;
}

}  // namespace doppel
