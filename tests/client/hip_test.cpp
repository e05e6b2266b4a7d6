// HIP programs, compiled by the distribution's hipcc for gfx1030. Each checks its own results; the
// tests check besides that doppel executed what the results came from.
#include <fmt/format.h>

#include "tests/client/run_client.h"
#include "tests/paths.h"

namespace doppel::client {
namespace {

struct Program {
  const char* name;
  uint64_t dispatches;         // at the least, without copies
  uint64_t wave_instructions;  // likewise
  const char* options = "--gpu gfx1030,cu=4";
};

void PrintTo(const Program& program, std::ostream* out) {
  *out << program.name;
}

class Hip : public ::testing::TestWithParam<std::tuple<Program, std::string>> {};

TEST_P(Hip, ComputesTheRightValues) {
  const auto& [program, setting] = GetParam();
  REQUIRE_HIP_CLIENT(program.name);
  const CountedOutcome outcome =
      run_counted(fmt::format("{}.{}", program.name, setting), program.options,
                  fmt::format("env {} {}", setting, hip_client(program.name)));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "wrong values: 0\n");
  EXPECT_GE(outcome.counters.dispatches, program.dispatches);
  EXPECT_GE(outcome.counters.wave_instructions, program.wave_instructions);
  EXPECT_EQ(outcome.counters.faults, 0u);
}

// The counts are what the sources launch: dispatches, and waves times the shortest way through.
INSTANTIATE_TEST_SUITE_P(
    Programs, Hip,
    ::testing::Combine(::testing::Values(Program{"vector_add", 1, 20000},
                                         Program{"reduction", 3, 50000},
                                         Program{"matmul", 1, 50000}, Program{"atomics", 1, 50000},
                                         Program{"scratch", 2, 50000},
                                         Program{"streams", 16, 10000}, Program{"graph", 9, 10000},
                                         Program{"memcpy", 3, 50000},
                                         Program{"peer", 2, 20000, "--gpu gfx1030,cu=4 --count 2"},
                                         Program{"rocrand", 4, 10000}),
                       ::testing::Values("HSA_ENABLE_SDMA=1", "HSA_ENABLE_SDMA=0",
                                         "HSA_ENABLE_INTERRUPT=0", "HSA_ENABLE_INTERRUPT=1")),
    [](const auto& info) {
      const std::string setting = std::get<1>(info.param);
      return fmt::format("{}_{}_{}", std::get<0>(info.param).name,
                         setting.find("SDMA") != std::string::npos ? "Sdma" : "Interrupt",
                         setting.back());
    });

TEST(HipPrintf, ReachesTheHost) {
  REQUIRE_HIP_CLIENT("printf");
  const CountedOutcome outcome = run_counted("printf", "--gpu gfx1030,cu=4", hip_client("printf"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (int item = 0; item < 4; ++item)
    EXPECT_TRUE(outcome.says(fmt::format("work-item {} says hello 3.25\n", item)))
        << outcome.output;
  EXPECT_GE(outcome.counters.dispatches, 1u);
}

TEST(HipModule, OfAnotherCompilerRuns) {
  REQUIRE_HIP_CLIENT("module_launch");
  const CountedOutcome outcome = run_counted(
      "module_launch", "--gpu gfx1030,cu=4",
      hip_client("module_launch") + " " + test::kernel_file("saxpy.cov4.gfx1030.co").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "wrong values: 0\n");
  EXPECT_GE(outcome.counters.wave_instructions, 3000u);
}

// Each has GPUs of its own, and nothing of one is seen by the other.
TEST(HipTwoClients, RunSideBySide) {
  REQUIRE_HIP_CLIENT("streams");
  REQUIRE_HIP_CLIENT("atomics");
  const std::string doppel = doppel_program() + " run --gpu gfx1030,cu=4 -- ";
  const Outcome outcome =
      shell(fmt::format("{0}{1} & first=$!; {0}{2}; second=$?; wait $first && exit $second", doppel,
                        hip_client("streams"), hip_client("atomics")));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "wrong values: 0\nwrong values: 0\n");
}

}  // namespace
}  // namespace doppel::client
