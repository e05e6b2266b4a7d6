// The command line of `doppel run`, and programs that only look at the machine.
#include <fmt/format.h>

#include <filesystem>

#include "tests/client/run_client.h"

namespace doppel::client {
namespace {

TEST(Run, AProgramKeepsItsStatusAndOutput) {
  const Outcome outcome = run("", "sh -c 'echo hello; exit 7'");
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.output, "hello\n");
}

TEST(Run, DeviceNodesAreThereToList) {
  const Outcome outcome = run("--gpu gfx1100,cu=4 --count 3", "ls /dev/dri");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(outcome.says("renderD130")) << outcome.output;
  EXPECT_FALSE(outcome.says("renderD131"));
}

TEST(Run, AnUnknownModelIsRefusedWithTheKnownOnes) {
  const Outcome outcome = run("--gpu gfx77", "true");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.says("gfx77") && outcome.says("gfx1100")) << outcome.output;
}

TEST(Run, TooManyGpusAreRefused) {
  const Outcome outcome = run("--count 9", "true");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.says("9")) << outcome.output;
}

TEST(Run, ACommandThatIsNotThereOrNoProgramFailsAsInAShell) {
  EXPECT_EQ(run("", "no-such-program").status, 127);
  EXPECT_TRUE(run("", "no-such-program").says("no-such-program"));
  EXPECT_EQ(run("", "/etc/passwd").status, 126);
}

TEST(Run, AnOutputFileThatCannotBeWrittenIsRefused) {
  EXPECT_EQ(run("--trace /no-such-directory/trace", "true").status, 2);
  EXPECT_EQ(run("--summary /no-such-directory/summary", "true").status, 2);
}

TEST(Run, InstructionsThatAProgramsKernelsExecuteAreReported) {
  const std::string report = scratch_file("isa_coverage.txt");
  std::filesystem::remove(report);
  const Outcome outcome = run("--gpu gfx1100,cu=4 --isa-coverage " + report,
                              doppel_program() + " selftest --backend kfd");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const std::string text = read_file(report);
  EXPECT_TRUE(text.starts_with("gfx11: ")) << text;
  EXPECT_NE(text.find("s_endpgm"), std::string::npos);
}

class RocmInfo : public ::testing::TestWithParam<const char*> {};

TEST_P(RocmInfo, ListsTheAgent) {
  REQUIRE_PROGRAM("rocminfo");
  const Outcome outcome = run(fmt::format("--gpu {},cu=4", GetParam()), "rocminfo");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(outcome.says(fmt::format("amdgcn-amd-amdhsa--{}", GetParam()))) << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(Models, RocmInfo, ::testing::Values("gfx1030", "gfx906", "gfx90a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace doppel::client
