// Debian 13's ROCm clients, which know gfx1100, through their own loader and libc. Optional:
// skipped where scripts/trixie-clients has not put them into the build tree.
#include <fmt/format.h>

#include <filesystem>

#include "tests/client/run_client.h"
#include "tests/paths.h"

namespace doppel::client {
namespace {

class Trixie : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(root() / "usr/bin/rocminfo"))
      GTEST_SKIP() << "Debian 13's clients are not there; scripts/trixie-clients fetches them";
  }
  static std::filesystem::path place() { return test::binary_dir() / "trixie"; }
  static std::filesystem::path root() { return place() / "root"; }

  /// The command with Debian 13's loader and libraries, and doppel's in front of them.
  static CountedOutcome run_there(const std::string& name, const std::string& gpu,
                                  const std::string& command) {
    const std::string libraries = root() / "usr/lib/x86_64-linux-gnu";
    const std::string summary = scratch_file(name + ".summary");
    std::filesystem::remove(summary);
    const Outcome outcome =
        shell(fmt::format("env DOPPEL_GPU={} DOPPEL_SUMMARY={} OCL_ICD_VENDORS={} "
                          "{}/ld-linux-x86-64.so.2 --preload {}/lib/libdoppel_preload.so "
                          "--library-path {} {}",
                          gpu, summary, (place() / "opencl").string(), libraries,
                          test::binary_dir().string(), libraries, command));
    return count(outcome, summary);
  }
};

TEST_F(Trixie, RocminfoListsTheAgents) {
  for (const char* model : {"gfx1100", "gfx1151", "gfx1030"}) {
    const Outcome outcome = run_there("trixie.rocminfo", fmt::format("{},cu=4", model),
                                      (root() / "usr/bin/rocminfo").string());
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_TRUE(outcome.says(fmt::format("amdgcn-amd-amdhsa--{}", model))) << outcome.output;
  }
}

TEST_F(Trixie, HipLaunchesAModulesKernelOnGfx1100) {
  REQUIRE_HIP_CLIENT("module_launch");
  const CountedOutcome outcome =
      run_there("trixie.hip", "gfx1100,cu=4",
                hip_client("module_launch") + " " + test::kernel_file("saxpy.gfx1100.co").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "wrong values: 0\n");
  EXPECT_GE(outcome.counters.dispatches, 1u);
  EXPECT_GE(outcome.counters.wave_instructions, 3000u);
}

TEST_F(Trixie, OpenClCompilesAndRunsAKernelOnGfx1100) {
  const std::string client = test::binary_dir() / "bin/opencl_add";
  if (!std::filesystem::exists(client)) GTEST_SKIP() << "the build found no OpenCL headers";
  const CountedOutcome outcome = run_there("trixie.opencl", "gfx1100,cu=4", client);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "wrong values: 0\n");
  EXPECT_GE(outcome.counters.dispatches, 1u);
  EXPECT_GE(outcome.counters.wave_instructions, 3000u);
}

}  // namespace
}  // namespace doppel::client
