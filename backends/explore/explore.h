// explore(): runs a program on emulated GPUs in every order that can make a difference, and says
// whether all of them give the same result.
//
//   auto all = explore([](Gpus gpus) -> Result<Bytes> { ...; return the_result; }).value();
//   EXPECT_TRUE(all.complete);
//   EXPECT_FALSE(all.counterexample) << all.counterexample->to_string();
//
// Two orders are the same if they differ only in steps that touch no common bytes, or only read
// them (Mazurkiewicz's traces); of each such class at least one is run. The method is dynamic
// partial-order reduction with source sets and sleep sets (Abdulla, Aronsson, Jonsson, Sagonas,
// "Optimal dynamic partial order reduction", POPL 2014) over the steps of queues' front-ends,
// slices of copies and of kernels, interrupts, and the host's turns.
//
// The host has one thread, takes its turns at its waits, and does the same whenever it sees the
// same; what it does through Allocation::host() is not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/mock/schedule_record.h"
#include "core/device.h"
#include "core/status.h"
#include "core/verify/finding.h"
#include "core/verify/verify.h"

namespace doppel {

using Bytes = std::vector<std::byte>;
using Gpus = std::span<const std::unique_ptr<Device>>;

/// Does its work on fresh GPUs and returns what must not depend on the order.
using Scenario = std::function<Result<Bytes>(Gpus gpus)>;

struct ExploreOptions {
  std::string machine = "mock:gfx1100";
  /// Checked in each run; hazards always are.
  Verify verify = {.hazards = true};
  uint64_t max_schedules = 10'000;
  /// Off: every interleaving is run, which only the smallest programs allow.
  bool reduce = true;
  /// Runs on random schedules from which the number of interleavings is estimated (Knuth,
  /// "Estimating the efficiency of backtrack programs", 1975).
  uint32_t samples = 0;
  /// Stop at the first schedule that fails.
  bool stop_at_failure = true;
  /// Runs that may be spent on making the failing schedule simpler.
  uint32_t minimize_runs = 200;
};

struct Outcome {
  Bytes result;
  uint64_t schedules = 0;  // that gave it
};

/// A schedule that fails, and how.
struct Counterexample {
  std::string what;  // findings, the program's error, or how its result differs
  ScheduleRecord schedule;

  std::string to_string() const;
};

struct Exploration {
  uint64_t schedules = 0;    // run
  uint64_t redundant = 0;    // of them, those that turned out to repeat another one's class
  bool complete = false;     // nothing is left to run
  double interleavings = 0;  // estimate of all orders; 0 without samples
  std::vector<Outcome> outcomes;
  std::optional<Counterexample> counterexample;
};

/// InvalidArgument if the machine is none that can be emulated, or the program doesn't repeat
/// itself. A program that fails, or that findings are made of, is a counterexample and no error.
Result<Exploration> explore(const Scenario& scenario, const ExploreOptions& options = {});

/// One run on that schedule: its result or error, and what was found. The same as under explore().
struct Replay {
  Result<Bytes> result;
  verify::FindingLog findings;
  ScheduleRecord schedule;  // as it went
  bool diverged = false;    // somebody who was to go on could not
};
Result<Replay> replay(const Scenario& scenario, const ScheduleRecord& schedule,
                      const Verify& verify = {.hazards = true});

}  // namespace doppel
