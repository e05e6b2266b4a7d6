// The shared sets of cases with known results. Those that hardware confirmed pass; the generated
// ones differ exactly where ERRATA.md says; captured kernels give their captured outputs.
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/paths.h"
#include "tools/vectors/replay.h"
#include "tools/vectors/vector_set.h"

namespace doppel::vectors {
namespace {

using testing::IsEmpty;

struct Difference {
  std::string entry;  // of ERRATA.md
  std::string cases;
  std::vector<uint32_t> numbers;
};

const std::vector<Difference>& differences() {
  static const std::vector<Difference> all = {
#define DIFFERENCE(entry, cases, ...) {entry, cases, {__VA_ARGS__}},
#include "tests/emulator/isa/vectors/differences.inc"
#undef DIFFERENCE
  };
  return all;
}

class SharedVectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!exists(folder())) GTEST_SKIP() << "The shared cases are not on this machine.";
  }
  static std::filesystem::path folder() { return test::shared_dir() / "vectors"; }

  template <class Case>
  static std::vector<Case> load(const std::string& path) {
    auto sets = load_vector_sets(folder() / path);
    if (!sets) {
      ADD_FAILURE() << sets.error().to_string();
      return {};
    }
    return std::get<std::vector<Case>>(std::move(sets->front().content));
  }
};

std::string failure_of(const CaseOutcome& outcome) {
  if (outcome.fault) return outcome.fault->to_string();
  return outcome.mismatch ? outcome.mismatch->where : "";
}

TEST_F(SharedVectors, CasesThatHardwareConfirmedPass) {
  uint32_t passed = 0;
  for (const IsaCase& isa_case : load<IsaCase>("isa/hardware.bin.zst")) {
    const CaseOutcome outcome = replay(isa_case);
    if (isa_case.arch == IsaCaseArch::Rdna3) {
      EXPECT_TRUE(outcome.passed()) << isa_case.name << ": " << failure_of(outcome);
      passed += outcome.passed() ? 1 : 0;
    } else {
      // Families without rows say so instead of guessing.
      ASSERT_TRUE(outcome.fault.has_value()) << isa_case.name;
      EXPECT_EQ(outcome.fault->kind, emu::FaultKind::BadDispatch) << failure_of(outcome);
    }
  }
  EXPECT_EQ(passed, 491u);
}

TEST_F(SharedVectors, GeneratedCasesDifferWhereErrataSaysAndNowhereElse) {
  std::set<std::string> expected;
  for (const Difference& difference : differences()) {
    for (const uint32_t number : difference.numbers) {
      expected.insert(difference.cases + "/" + std::to_string(number));
    }
  }
  std::vector<std::string> unexplained;
  for (const IsaCase& isa_case : load<IsaCase>("isa/sweep.bin.zst")) {
    const CaseOutcome outcome = replay(isa_case);
    if (outcome.passed()) continue;
    if (expected.erase(isa_case.name) == 0) {
      unexplained.push_back(isa_case.name + ": " + failure_of(outcome));
    }
  }
  EXPECT_THAT(unexplained, IsEmpty()) << "differ without an entry in differences.inc";
  EXPECT_THAT(expected, IsEmpty()) << "agree by now: take them from differences.inc";
}

TEST_F(SharedVectors, CapturedKernelsMatchWithAnyNumberOfWorkers) {
  const auto kernels = load<CapturedKernel>("kernels");
  EXPECT_EQ(kernels.size(), 20u);
  for (const CapturedKernel& kernel : kernels) {
    for (const uint32_t workers : {1u, 2u, 3u}) {
      const KernelOutcome outcome =
          replay(kernel, {.workers = workers, .repeat = 1, .clock = nullptr});
      EXPECT_TRUE(outcome.passed()) << kernel.name << " with " << workers << " workers";
      EXPECT_EQ(outcome.counters.wave_instructions, kernel.wave_instructions) << kernel.name;
    }
  }
}

/// First cells of the rows of ERRATA.md's table about generated cases.
std::set<std::string> errata_entries() {
  std::ifstream file(test::source_dir() / "emulator/isa/ERRATA.md");
  std::set<std::string> entries;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## The manual against other emulators";
    if (!inside || !line.starts_with("| ") || line.starts_with("| case |")) continue;
    entries.insert(line.substr(2, line.find(" |", 2) - 2));
  }
  return entries;
}

TEST(Errata, ExplainsEveryKnownDifferenceAndNoOther) {
  std::set<std::string> used;
  for (const Difference& difference : differences()) used.insert(difference.entry);
  EXPECT_EQ(used, errata_entries());
}

}  // namespace
}  // namespace doppel::vectors
