#include "backends/explore/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/explore/scenario_run.h"
#include "backends/explore/schedule_tree.h"
#include "backends/mock/recorded_schedule.h"
#include "emulator/verify/step_recorder.h"

namespace doppel {
namespace {

using explorer::ScenarioRun;
using explorer::ScheduleTree;
using mock::RecordedSchedule;
using verify::ActorNumber;

/// Names of actors, by number; the same in all runs.
class Actors {
 public:
  ActorNumber number(const emu::Block* block) {
    if (block == nullptr) return verify::kHostActor;
    const std::string name = mock::name_of(block);
    const auto number = static_cast<size_t>(std::ranges::find(names_, name) - names_.begin());
    if (number == names_.size()) names_.push_back(name);
    return static_cast<ActorNumber>(number);
  }
  const std::string& name(ActorNumber actor) const { return names_[actor]; }

 private:
  std::vector<std::string> names_ = {"host"};
};

/// One run's decisions, as the tree takes them.
class TreeSchedule final : public emu::Schedule {
 public:
  TreeSchedule(ScheduleTree& tree, Actors& actors) : tree_(tree), actors_(actors) {
    tree_.begin(recorder_.log());
  }

  size_t choose(std::span<emu::Block* const> runnable) override {
    std::vector<ActorNumber> enabled;
    for (const emu::Block* block : runnable) enabled.push_back(actors_.number(block));
    const ActorNumber chosen = tree_.decide(enabled);
    went_.add(actors_.name(chosen));
    return static_cast<size_t>(std::ranges::find(enabled, chosen) - enabled.begin());
  }
  bool delays_host() const override { return true; }
  verify::Checker* checker() override { return &recorder_; }

  const ScheduleRecord& went() const { return went_; }

 private:
  ScheduleTree& tree_;
  Actors& actors_;
  verify::StepRecorder recorder_;
  ScheduleRecord went_;
};

/// A random walk that multiplies up how many choices there were.
class SamplingSchedule final : public emu::Schedule {
 public:
  explicit SamplingSchedule(uint64_t seed) : prng_(seed) {}

  size_t choose(std::span<emu::Block* const> runnable) override {
    walks_ *= static_cast<double>(runnable.size());
    return prng_.below(runnable.size());
  }
  bool delays_host() const override { return true; }
  double walks() const { return walks_; }

 private:
  Prng prng_;
  double walks_ = 1;
};

/// Why the run is wrong; "" if it is not. `expected`: another run's result, or nullptr.
std::string failure_of(const ScenarioRun& run, const Bytes* expected) {
  if (!run.findings.empty()) return run.findings.to_string();
  if (!run.result) return run.result.error().to_string();
  if (expected == nullptr || *run.result == *expected) return "";
  const auto [mine, theirs] = std::ranges::mismatch(*run.result, *expected);
  if (run.result->size() != expected->size()) {
    return fmt::format("The result has {} bytes, on another schedule {}.", run.result->size(),
                       expected->size());
  }
  return fmt::format(
      "The result differs from another schedule's at byte {}: 0x{:02x}, not 0x{:02x}.",
      mine - run.result->begin(), static_cast<unsigned>(*mine), static_cast<unsigned>(*theirs));
}

class Explorer {
 public:
  Explorer(const Scenario& scenario, const ExploreOptions& options)
      : scenario_(scenario), options_(options), tree_(options.reduce) {
    options_.verify.hazards = true;
  }

  Result<Exploration> explore();

 private:
  Result<ScenarioRun> run(emu::Schedule& schedule) const {
    return explorer::run_scenario(scenario_, options_.machine, options_.verify, schedule);
  }
  Result<> sample();
  Result<> add(const TreeSchedule& schedule, ScenarioRun run);
  Result<> minimize();
  const Bytes* expected() const {
    return exploration_.outcomes.empty() ? nullptr : &exploration_.outcomes.front().result;
  }

  const Scenario& scenario_;
  ExploreOptions options_;
  Actors actors_;
  ScheduleTree tree_;
  Exploration exploration_;
};

Result<> Explorer::sample() {
  double sum = 0;
  for (uint32_t seed = 1; seed <= options_.samples; ++seed) {
    SamplingSchedule schedule(seed);
    DOPPEL_TRY(run(schedule));
    sum += schedule.walks();
  }
  if (options_.samples != 0) exploration_.interleavings = sum / options_.samples;
  return {};
}

Result<> Explorer::add(const TreeSchedule& schedule, ScenarioRun run) {
  ++exploration_.schedules;
  exploration_.redundant += tree_.redundant();
  if (!tree_.end()) {
    return error(StatusCode::InvalidArgument,
                 "The program does not repeat itself: on the same schedule it did something else.");
  }
  const std::string failure = failure_of(run, expected());
  if (run.result) {
    auto& outcomes = exploration_.outcomes;
    const auto same = std::ranges::find(outcomes, *run.result, &Outcome::result);
    ++(same != outcomes.end() ? *same : outcomes.emplace_back(*run.result)).schedules;
  }
  if (!failure.empty() && !exploration_.counterexample) {
    exploration_.counterexample = Counterexample{failure, schedule.went()};
  }
  return {};
}

/// Leaves out turns, as long as the schedule goes on failing.
Result<> Explorer::minimize() {
  ScheduleRecord& best = exploration_.counterexample->schedule;
  uint32_t runs = options_.minimize_runs;
  for (size_t turn = 0; turn < best.turns.size() && runs != 0; --runs) {
    ScheduleRecord shorter = best;
    shorter.turns.erase(shorter.turns.begin() + static_cast<std::ptrdiff_t>(turn));
    RecordedSchedule schedule(std::move(shorter));
    DOPPEL_ASSIGN(const ScenarioRun again, run(schedule));
    const std::string failure = failure_of(again, expected());
    if (failure.empty() || schedule.went().turns.size() >= best.turns.size()) {
      ++turn;
      continue;
    }
    exploration_.counterexample->what = failure;
    best = schedule.went();
  }
  best.machine = options_.machine;
  best.what = exploration_.counterexample->what;
  return {};
}

Result<Exploration> Explorer::explore() {
  DOPPEL_TRY(sample());
  bool more = true;
  while (more && exploration_.schedules < options_.max_schedules) {
    TreeSchedule schedule(tree_, actors_);
    DOPPEL_ASSIGN(ScenarioRun one, run(schedule));
    DOPPEL_TRY(add(schedule, std::move(one)));
    if (exploration_.counterexample && options_.stop_at_failure) break;
    more = tree_.advance();
  }
  exploration_.complete = !more;
  if (exploration_.counterexample) DOPPEL_TRY(minimize());
  return std::move(exploration_);
}

}  // namespace

std::string Counterexample::to_string() const {
  std::string text = what;
  if (!text.ends_with('\n')) text += '\n';
  text += "The schedule:\n";
  for (const Turn& turn : schedule.turns) {
    text += fmt::format("  {} x {}\n", turn.who, turn.steps);
  }
  return text;
}

Result<Exploration> explore(const Scenario& scenario, const ExploreOptions& options) {
  return Explorer(scenario, options).explore();
}

}  // namespace doppel
