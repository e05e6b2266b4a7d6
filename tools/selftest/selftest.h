// Selftest: the ordered steps that bring a GPU up, from opening /dev/kfd to a graph over several
// GPUs. Each step uses what the ones before it left on the Bench; one that fails is explained by
// its likely causes, and whoever needs it is skipped.
//
// Talks to the driver through the KernelAbi that it is given: a card, the emulator, or a test
// double. On one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/kernel_abi.h"
#include "core/status.h"

namespace doppel::selftest {

enum class Outcome : uint8_t {
  Passed,
  Failed,
  Blocked,        // a step that it needs did not pass
  NotApplicable,  // this machine has nothing to try it on
};
std::string_view to_string(Outcome outcome);

struct StepReport {
  std::string_view name;   // "sdma-copy"
  std::string_view title;  // "copy with an SDMA queue"
  Outcome outcome = Outcome::Passed;
  std::string detail = {};                    // what was seen, or which step is missing
  std::vector<std::string_view> causes = {};  // likely ones, of a failure
};

struct Report {
  std::string machine;  // "kfd", "mock:gfx1100,count=2"
  bool emulated = false;
  std::vector<StepReport> steps = {};

  size_t count(Outcome outcome) const;
  bool passed() const { return count(Outcome::Failed) == 0; }

  std::string to_text() const;
  std::string to_json() const;  // one object
};

struct Options {
  std::string machine;    // for the report
  bool emulated = false;  // for the report: no hardware is behind the driver
  uint32_t gpu = 0;       // the one under test
};

/// Runs all steps. Never fails as a whole: what goes wrong is in the report.
Report run(std::shared_ptr<kfd::KernelAbi> kernel, const Options& options);

/// Names and titles of all steps, in order.
struct StepName {
  std::string_view name;
  std::string_view title;
};
std::vector<StepName> step_names();

}  // namespace doppel::selftest
