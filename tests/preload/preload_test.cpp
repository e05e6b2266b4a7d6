// How the preloaded library lives in another program: forks, execs, descriptors, signals, other
// loaders, and what is left behind.
#include <fmt/format.h>

#include <filesystem>
#include <thread>

#include "tests/client/run_client.h"
#include "tests/paths.h"

namespace doppel::client {
namespace {

std::string probe(const std::string& scenario) {
  return fmt::format("{}/bin/doppel_preload_probe {}", test::binary_dir().string(), scenario);
}

std::string library() {
  return test::binary_dir() / "lib/libdoppel_preload.so";
}

class Probe : public ::testing::TestWithParam<std::string> {};

TEST_P(Probe, FindsWhatTheDriverWouldDo) {
  const Outcome outcome = run("--gpu gfx1100,cu=2", probe(GetParam()));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "");
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Probe,
                         ::testing::Values("version", "fork", "fork_first", "exec", "close", "dup",
                                           "other_libc", "threads", "handlers", "child_crash"),
                         [](const auto& info) { return info.param; });

TEST(Preload, ServesBeforeItsConstructorsAndAfterItsDestructors) {
  const Outcome outcome =
      run("--gpu gfx1100,cu=2", test::binary_dir() / "bin/doppel_preload_early");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "constructor: version 1\nmain: version 1\ndestructor: version 1\n");
}

TEST(Preload, ACrashStaysACrash) {
  constexpr int kSegmentationFault = 128 + 11;
  EXPECT_EQ(run("", probe("crash")).status, kSegmentationFault);
  EXPECT_EQ(run("", probe("raise")).status, kSegmentationFault);
}

/// The janitor is a process of its own: it may still be at work when the client's end is known.
void expect_gone(std::string directory) {
  while (directory.ends_with('\n')) directory.pop_back();
  ASSERT_TRUE(directory.starts_with("/dev/shm/doppel-") || directory.starts_with("/tmp/doppel-"))
      << directory;
  while (std::filesystem::exists(directory)) std::this_thread::yield();
}

TEST(Preload, NothingIsLeftBehind) {
  const Outcome outcome = run("", probe("root"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  expect_gone(outcome.output);
}

TEST(Preload, NothingIsLeftBehindByAKilledClient) {
  const Outcome outcome = run("", probe("die"));
  EXPECT_EQ(outcome.status, 128 + 9);
  expect_gone(outcome.output);
}

TEST(Preload, AnInheritedPreloadIsKept) {
  const Outcome outcome =
      shell(fmt::format("LD_PRELOAD=$LD_PRELOAD:libm.so.6 {} run -- sh -c 'echo $LD_PRELOAD && {}'",
                        doppel_program(), probe("version")));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with(library() + ":libm.so.6\n")) << outcome.output;
}

TEST(Preload, AClientMayStartClientsOfItsOwn) {
  const Outcome outcome =
      run("--gpu gfx1100,cu=2", fmt::format("sh -c '{0} & {0}; wait $!'", probe("version")));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

// As for a program of another distribution: its own loader, and no launcher of ours.
TEST(Preload, WorksByTheLoadersOption) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  if (!std::filesystem::exists(loader)) GTEST_SKIP() << "there is no " << loader;
  const Outcome outcome = shell(fmt::format("env DOPPEL_GPU=gfx1030,cu=2 {} --preload {} {}",
                                            loader, library(), probe("close")));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "");
}

TEST(Preload, AWrongSettingIsToldAndThereIsNoDevice) {
  const Outcome outcome = shell(fmt::format("env DOPPEL_GPU=gfx77 LD_PRELOAD=$LD_PRELOAD:{} {}",
                                            library(), probe("version")));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.says("gfx77")) << outcome.output;
}

}  // namespace
}  // namespace doppel::client
