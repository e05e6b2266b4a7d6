// A machine profile's round trip through files, preload library, system calls and libdrm.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/shell.h"

namespace doppel::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ProfileCommand : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path file(const char* name) const { return directory_ / name; }

  /// What the machine says under the shim.
  ShellOutcome dump(const std::string& gpu, const fs::path& to) {
    return shell(fmt::format("{0} run --gpu {1} -- {0} profile dump -o {2} 2>&1", doppel_command(),
                             gpu, to.string()));
  }

  fs::path directory_ =
      fs::path(::testing::TempDir()) /
      fmt::format("profile-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ProfileCommand, AMachineLoadedFromItsDumpSaysTheSame) {
  for (const char* machine : {"gfx1030,cu=8,count=2", "gfx1100,cu=6,vram=2GiB,kfd=1.12",
                              "gfx90a,cu=8", "gfx1151,bar=small"}) {
    const ShellOutcome first = dump(machine, file("first.json"));
    ASSERT_EQ(first.status, 0) << first.output;
    const ShellOutcome second = dump(file("first.json"), file("second.json"));
    ASSERT_EQ(second.status, 0) << second.output;
    EXPECT_EQ(read(file("first.json")), read(file("second.json"))) << machine;
  }
}

TEST_F(ProfileCommand, TheLoadedMachineWorks) {
  ASSERT_EQ(dump("gfx1030,cu=8,count=2", file("card.json")).status, 0);
  const ShellOutcome inside = shell(fmt::format("{} selftest --backend mock:profile={} 2>&1",
                                                doppel_command(), file("card.json").string()));
  EXPECT_EQ(inside.status, 0) << inside.output;
  EXPECT_NE(inside.output.find("31 passed, 0 failed"), std::string::npos) << inside.output;
  const ShellOutcome outside =
      shell(fmt::format("{0} run --gpu {1} -- {0} selftest --backend kfd 2>&1", doppel_command(),
                        file("card.json").string()));
  EXPECT_EQ(outside.status, 0) << outside.output;
}

TEST_F(ProfileCommand, TheLoadedMachineIsAnotherThanTheDefault) {
  ASSERT_EQ(dump("gfx1030,cu=12,vram=3GiB", file("card.json")).status, 0);
  const ShellOutcome info = shell(
      fmt::format("{} info mock:profile={} --json", doppel_command(), file("card.json").string()));
  ASSERT_EQ(info.status, 0);
  const auto node = nlohmann::json::parse(info.output)["nodes"][1];
  EXPECT_EQ(node["target"], "gfx1030");
  EXPECT_EQ(node["properties"]["simd_count"], 24);
  EXPECT_EQ(node["memory_banks"][0]["size_in_bytes"], uint64_t{3} << 30);
}

TEST_F(ProfileCommand, FaultPlansReachTheProgram) {
  std::ofstream(file("plan")) << "ioctl AMDKFD_IOC_CREATE_QUEUE * ENOMEM  # no queues\n";
  const ShellOutcome failed =
      shell(fmt::format("{0} run --gpu gfx1030 --faults {1} -- {0} selftest "
                        "--backend kfd 2>&1",
                        doppel_command(), file("plan").string()));
  EXPECT_NE(failed.status, 0);
  EXPECT_NE(failed.output.find("ENOMEM"), std::string::npos) << failed.output;
  std::ofstream(file("plan")) << "ioctl NOTHING 1 ENOMEM\n";
  const ShellOutcome refused = shell(fmt::format("{} run --gpu gfx1030 --faults {} -- true 2>&1",
                                                 doppel_command(), file("plan").string()));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.output.find("Line 1 of the fault plan"), std::string::npos) << refused.output;
}

TEST_F(ProfileCommand, SettingsThatContradictAreRefused) {
  ASSERT_EQ(dump("gfx1030,cu=8", file("card.json")).status, 0);
  const ShellOutcome refused = shell(fmt::format("{} run --gpu {} --count 2 -- true 2>&1",
                                                 doppel_command(), file("card.json").string()));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.output.find("seed, pct, schedule, faults, workers and instructions only"),
            std::string::npos)
      << refused.output;
  EXPECT_EQ(shell(fmt::format("{} run --gpu {} --seed 7 -- true", doppel_command(),
                              file("card.json").string()))
                .status,
            0);
}

TEST_F(ProfileCommand, WithoutADriverThereIsNothingToDump) {
  if (fs::exists("/dev/kfd")) GTEST_SKIP() << "this machine has a driver";
  const ShellOutcome outcome = shell(doppel_command() + " profile dump 2>&1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("/dev/kfd"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace doppel::testing
