#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/selftest/selftest.h"

namespace doppel::selftest {
namespace {

constexpr std::string_view kNoHardware =
    "The driver and the GPU were doppel's own: this says nothing of a card.";

constexpr size_t kTitleColumns = 40;

/// Each line below the step's title.
std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    text += fmt::format("          {}\n", line);
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return text;
}

std::string_view label(Outcome outcome) {
  switch (outcome) {
    case Outcome::Passed:
      return "ok";
    case Outcome::Failed:
      return "FAIL";
    case Outcome::Blocked:
      return "skip";
    case Outcome::NotApplicable:
      return "n/a";
  }
  return "?";
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::Passed:
      return "passed";
    case Outcome::Failed:
      return "failed";
    case Outcome::Blocked:
      return "blocked";
    case Outcome::NotApplicable:
      return "not applicable";
  }
  return "?";
}

size_t Report::count(Outcome outcome) const {
  return static_cast<size_t>(std::ranges::count(steps, outcome, &StepReport::outcome));
}

std::string Report::to_text() const {
  std::string text = fmt::format("selftest of {}\n", machine);
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepReport& step = steps[i];
    const bool failed = step.outcome == Outcome::Failed;
    const bool beside = !failed && !step.detail.empty();
    text += fmt::format("{:>3} {:<4}  {:<{}}{}\n", i + 1, label(step.outcome), step.title,
                        beside ? kTitleColumns : 0, beside ? step.detail : "");
    if (!failed) continue;
    text += indented(step.detail);
    text += "          Likely causes:\n";
    for (const std::string_view cause : step.causes) text += fmt::format("          - {}\n", cause);
  }
  text +=
      fmt::format("{} passed, {} failed, {} skipped, {} not applicable\n", count(Outcome::Passed),
                  count(Outcome::Failed), count(Outcome::Blocked), count(Outcome::NotApplicable));
  if (emulated) text += fmt::format("{}\n", kNoHardware);
  return text;
}

std::string Report::to_json() const {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const StepReport& step : steps) {
    Json row{{"step", step.name},
             {"title", step.title},
             {"outcome", to_string(step.outcome)},
             {"detail", step.detail}};
    if (!step.causes.empty()) row["causes"] = step.causes;
    rows.push_back(std::move(row));
  }
  return Json{{"machine", machine},
              {"emulated", emulated},
              {"passed", count(Outcome::Passed)},
              {"failed", count(Outcome::Failed)},
              {"skipped", count(Outcome::Blocked)},
              {"not_applicable", count(Outcome::NotApplicable)},
              {"steps", rows}}
      .dump(2);
}

}  // namespace doppel::selftest
