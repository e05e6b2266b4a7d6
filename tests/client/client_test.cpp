// Other people's programs on emulated GPUs, started by `doppel run`. A program that is not
// installed is a skipped test that says so.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/paths.h"

namespace {

struct Outcome {
  int status = -1;
  std::string output;  // stdout and stderr
};

Outcome shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Outcome run(const std::string& options, const std::string& command) {
  return shell(fmt::format("{}/bin/doppel run {} -- {}", doppel::test::binary_dir().string(),
                           options, command));
}

bool installed(const std::string& program) {
  return shell("command -v " + program).status == 0;
}

#define REQUIRE_PROGRAM(name) \
  if (!installed(name)) GTEST_SKIP() << name << " is not installed"

TEST(Client, AProgramKeepsItsStatusAndOutput) {
  const Outcome outcome = run("", "sh -c 'echo hello; exit 7'");
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.output, "hello\n");
}

TEST(Client, DeviceNodesAreThereToList) {
  const Outcome outcome = run("--gpu gfx1100,cu=4 --count 3", "ls /dev/dri");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("renderD130"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("renderD131"), std::string::npos);
}

TEST(Client, WrongSettingsAndCommandsAreRefused) {
  EXPECT_EQ(run("--gpu gfx77", "true").status, 2);
  EXPECT_NE(run("--gpu gfx77", "true").output.find("gfx1100"), std::string::npos);
  EXPECT_EQ(run("--count 9", "true").status, 2);
  EXPECT_EQ(run("", "no-such-program").status, 127);
}

TEST(Client, InstructionsThatAProgramsKernelsExecuteAreReported) {
  const auto report = std::filesystem::path(testing::TempDir()) / "isa_coverage.txt";
  std::filesystem::remove(report);
  const Outcome outcome =
      run("--gpu gfx1100,cu=4 --isa-coverage " + report.string(),
          doppel::test::binary_dir().string() + "/bin/doppel selftest --backend kfd");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  std::ifstream file(report);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(text.starts_with("gfx11: ")) << text;
  EXPECT_NE(text.find("s_endpgm"), std::string::npos);
}

TEST(Client, LibdrmListsTheDevice) {
  REQUIRE_PROGRAM("drmdevice");
  const Outcome outcome = run("--gpu gfx1030,cu=4", "drmdevice");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("Devices reported 1"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("device_id     73bf"), std::string::npos) << outcome.output;
}

class RocmInfo : public ::testing::TestWithParam<const char*> {};

TEST_P(RocmInfo, ListsTheAgent) {
  REQUIRE_PROGRAM("rocminfo");
  const Outcome outcome = run(fmt::format("--gpu {},cu=4", GetParam()), "rocminfo");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find(fmt::format("amdgcn-amd-amdhsa--{}", GetParam())),
            std::string::npos)
      << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(Models, RocmInfo, ::testing::Values("gfx1030", "gfx906", "gfx90a"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Client, HipAddsVectorsOnTheGpu) {
  REQUIRE_PROGRAM("hipcc");
  const std::string program = doppel::test::binary_dir() / "client_vector_add";
  const Outcome compiled =
      shell(fmt::format("hipcc --offload-arch=gfx1030 -O2 {}/tests/client/vector_add.hip -o {}",
                        doppel::test::source_dir().string(), program));
  ASSERT_EQ(compiled.status, 0) << compiled.output;
  for (const char* setting : {"HSA_ENABLE_SDMA=1", "HSA_ENABLE_SDMA=0", "HSA_ENABLE_INTERRUPT=0"}) {
    const Outcome outcome = run("--gpu gfx1030,cu=4", fmt::format("env {} {}", setting, program));
    EXPECT_EQ(outcome.status, 0) << setting << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("wrong elements: 0\n"), std::string::npos) << outcome.output;
  }
}

}  // namespace
