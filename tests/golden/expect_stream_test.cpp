// EXPECT_STREAM as users see it: what it accepts, what it says, what an updating run writes.
#include "tests/paths.h"
#define DOPPEL_GOLDEN_DIR (doppel::test::source_dir() / "tests/golden/recorded")
#include "core/golden/expect_stream.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/graph/graph_world.h"

namespace doppel {
namespace {

using golden::expect_stream;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr SignalRef kExpectedDone{0x7f0000001000, 0, 0};

CommandStream wait_for(uint64_t signal_address, uint64_t value) {
  CommandStream stream(packets::Language::Pm4, GfxFamily::Gfx11);
  Pm4Encoder(stream).wait({.address = signal_address}, value);
  return stream;
}

class ExpectStream : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(testing::TempDir()) / "doppel_golden" / info->name();
    std::filesystem::remove_all(directory_);
    update(false);
  }
  void TearDown() override {
    update(was_updating_);
    std::filesystem::remove_all(directory_);
  }
  static void update(bool on) {
    if (on)
      setenv("DOPPEL_UPDATE_GOLDEN", "1", 1);
    else
      unsetenv("DOPPEL_UPDATE_GOLDEN");
  }
  std::string content(const char* file = "golden.txt") const {
    std::ostringstream text;
    text << std::ifstream(directory_ / file).rdbuf();
    return text.str();
  }

  const bool was_updating_ = golden::updating();
  std::filesystem::path directory_;
};

TEST(ExpectStreamMacro, TakesStreamsRecordingsAndGraphs) {
  EXPECT_STREAM(wait_for(kExpectedDone.address, 3), "wait", {"done", kExpectedDone.address, 64});

  test::GraphWorld world({.program = "golden_kernels"});
  const Signal done = *world.devices[0].create_signal({});
  auto commands = world.devices[0].sdma();
  commands.wait(done, 1).copy(world.buffers[0], world.buffers[1]).signal(done, 2);
  EXPECT_STREAM(commands, "download", {"done", done}, {"x", world.buffers[0]});

  Graph graph;
  graph.copy(world.buffers[0], world.buffers[1]);
  graph.kernel(world.kernel("scale"), args(world.buffers[1], world.buffers[2], 3u), 16, 64);
  const auto exec = graph.instantiate(world.devices[0]);
  ASSERT_TRUE(exec) << exec.error().to_string();
  EXPECT_STREAM(*exec, "graphs/copy_and_kernel", {"x", world.buffers[0]},
                {"scale", world.kernel("scale")->entry_address(), 256});
}

TEST_F(ExpectStream, WithoutABlockSaysHowToWriteOne) {
  EXPECT_THAT(
      expect_stream(directory_, wait_for(0x1000, 3), "wait").message(),
      AllOf(HasSubstr("golden.txt has no block wait"), HasSubstr("DOPPEL_UPDATE_GOLDEN=1")));
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(ExpectStream, ShowsTheLinesThatDiffer) {
  update(true);
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x1000, 3), "wait"));
  update(false);
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x1000, 3), "wait"));
  const auto outcome = expect_stream(directory_, wait_for(0x1000, 4), "wait");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.message(),
              AllOf(HasSubstr("from line 6 of the block"), HasSubstr("-   00000003  reference=3"),
                    HasSubstr("+   00000004  reference=4"), Not(HasSubstr("WAIT_REG_MEM"))));
}

TEST_F(ExpectStream, DoesNotDependOnWhereThingsLie) {
  update(true);
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x1000, 3), "named", {{"done", 0x1000, 64}}));
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x1000, 3), "unnamed"));
  update(false);
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x777000, 3), "named", {{"done", 0x777000, 64}}));
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x777000, 3), "unnamed"));
  EXPECT_THAT(content(), AllOf(HasSubstr("address=done+0x8"), HasSubstr("address=unnamed1+0x0")));
}

TEST_F(ExpectStream, TellsUnnamedAddressesApart) {
  update(true);
  CommandStream two = wait_for(0x1000, 3);
  for (uint64_t address : {0x2000, 0x1000}) two.append_stream(wait_for(address, 3));
  EXPECT_TRUE(expect_stream(directory_, two, "two"));
  update(false);
  CommandStream one = wait_for(0x1000, 3);
  for (int n = 0; n < 2; ++n) one.append_stream(wait_for(0x1000, 3));
  EXPECT_THAT(expect_stream(directory_, one, "two").message(),
              AllOf(HasSubstr("-   @lo       address=unnamed2+0x0"),
                    HasSubstr("+   @lo       address=unnamed1+0x0")));
}

TEST_F(ExpectStream, UpdatesItsOwnBlockOnly) {
  update(true);
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x1000, 1), "first"));
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x1000, 2), "second"));
  const std::string before = content();
  EXPECT_TRUE(expect_stream(directory_, wait_for(0x1000, 7), "first"));
  const std::string after = content();
  EXPECT_NE(after, before);
  EXPECT_EQ(after.substr(after.find("== second")), before.substr(before.find("== second")));
}

TEST_F(ExpectStream, FailsWithTheRecordingsOwnError) {
  CommandStream broken(packets::Language::Pm4, GfxFamily::Gfx11);
  Pm4Encoder(broken).wait({.address = 0x1000}, uint64_t{1} << 32);
  EXPECT_THAT(expect_stream(directory_, broken, "broken").message(), HasSubstr("0x100000000"));

  test::GraphWorld world({.program = "golden_kernels"});
  auto commands = world.devices[0].compute();
  ASSERT_TRUE(commands.memory_barrier().submit());
  EXPECT_THAT(expect_stream(directory_, commands, "gone").message(),
              HasSubstr("submitted already"));
  EXPECT_THAT(expect_stream(directory_, commands.memory_barrier(), "gone").message(),
              HasSubstr("submitted already"));
}

}  // namespace
}  // namespace doppel
