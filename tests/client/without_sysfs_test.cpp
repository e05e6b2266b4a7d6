// Machines without /sys, such as a bare chroot: libnuma finds no memory node there, and ROCr
// nothing to run on, unless doppel shows one.
#include <fmt/format.h>

#include "tests/client/run_client.h"

namespace doppel::client {
namespace {

/// A shell command with an empty /sys, in a mount namespace of its own.
std::string with_empty_sysfs(const std::string& command) {
  return fmt::format("unshare --mount --map-root-user sh -c 'mount -t tmpfs none /sys && {}'",
                     command);
}

class WithoutSysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    const Outcome outcome = shell(with_empty_sysfs("test ! -e /sys/devices"));
    if (outcome.status != 0)
      GTEST_SKIP() << "/sys can't be hidden from a program here: " << outcome.output;
  }

  static CountedOutcome run_there(const std::string& name, const std::string& command) {
    const std::string summary = scratch_file(name + ".summary");
    return count(shell(with_empty_sysfs(fmt::format("{} run --gpu gfx1030,cu=4 --summary {} -- {}",
                                                    doppel_program(), summary, command))),
                 summary);
  }
};

TEST_F(WithoutSysfs, OneMemoryNodeIsThere) {
  const Outcome outcome = run_there("no_sysfs.node",
                                    "cat /sys/devices/system/node/online "
                                    "/sys/devices/system/node/node0/distance "
                                    "/sys/devices/system/node/node0/meminfo");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(outcome.output.starts_with("0\n10\nNode 0 MemTotal: ")) << outcome.output;
}

TEST_F(WithoutSysfs, RocminfoListsTheAgent) {
  REQUIRE_PROGRAM("rocminfo");
  const Outcome outcome = run_there("no_sysfs.rocminfo", "rocminfo");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(outcome.says("amdgcn-amd-amdhsa--gfx1030")) << outcome.output;
}

TEST_F(WithoutSysfs, HipComputesTheRightValues) {
  REQUIRE_HIP_CLIENT("vector_add");
  const CountedOutcome outcome = run_there("no_sysfs.vector_add", hip_client("vector_add"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "wrong values: 0\n");
  EXPECT_GE(outcome.counters.wave_instructions, 20000u);
}

TEST(WithSysfs, TheHostsOwnMemoryNodesAreSeen) {
  const std::string list = "ls /sys/devices/system/node/node0";
  const Outcome outside = shell(list);
  if (outside.status != 0) GTEST_SKIP() << "the host shows no memory node: " << outside.output;
  EXPECT_EQ(run("", list).output, outside.output);
}

}  // namespace
}  // namespace doppel::client
