#include "tools/selftest/selftest.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tools/selftest/bench.h"
#include "tools/selftest/causes.h"

namespace doppel::selftest {
namespace {

StepReport carry_out(const Step& step, Bench& bench, const std::set<std::string_view>& passed) {
  StepReport report{.name = step.name, .title = step.title};
  for (const std::string_view needed : step.needs) {
    if (passed.contains(needed)) continue;
    report.outcome = Outcome::Blocked;
    report.detail = fmt::format("needs {}", needed);
    return report;
  }
  Result<Done> result = step.run(bench);
  if (result) {
    report.outcome = result->applicable ? Outcome::Passed : Outcome::NotApplicable;
    report.detail = std::move(result->detail);
    return report;
  }
  report.outcome = Outcome::Failed;
  report.detail = result.error().to_string();
  report.causes = likely_causes(step.name, result.error());
  return report;
}

}  // namespace

std::unexpected<Status> wrong(std::string message) {
  return error(StatusCode::System, std::move(message));
}

std::vector<Step> all_steps() {
  std::vector<Step> steps;
  add_driver_steps(steps);
  add_memory_steps(steps);
  add_queue_steps(steps);
  add_graph_steps(steps);
  return steps;
}

std::vector<StepName> step_names() {
  std::vector<StepName> names;
  for (const Step& step : all_steps()) names.push_back({step.name, step.title});
  return names;
}

Report run(std::shared_ptr<kfd::KernelAbi> kernel, const Options& options) {
  Report report{.machine = options.machine, .emulated = options.emulated};
  Bench bench{.kernel = std::move(kernel), .gpu_index = options.gpu};
  std::set<std::string_view> passed;
  for (const Step& step : all_steps()) {
    report.steps.push_back(carry_out(step, bench, passed));
    if (report.steps.back().outcome == Outcome::Passed) passed.insert(step.name);
  }
  return report;
}

}  // namespace doppel::selftest
