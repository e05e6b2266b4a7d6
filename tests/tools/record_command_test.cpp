// `doppel record` and `doppel replay` on a program of its own process: the demo, in process and
// through the preload library's driver.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/tools/shell.h"

namespace doppel::testing {
namespace {

namespace fs = std::filesystem;

class RecordCommand : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  static std::string demo(const std::string& options) {
    return fmt::format("{} --count 5000 {}", (test::binary_dir() / "bin" / "graph_demo").string(),
                       options);
  }
  std::string trace() const { return (directory_ / "demo.dpl").string(); }
  ShellOutcome doppel(const std::string& arguments) {
    return shell(fmt::format("{} {} 2>&1", doppel_command(), arguments));
  }

  fs::path directory_ =
      fs::path(::testing::TempDir()) /
      fmt::format("record-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(RecordCommand, TheDemoIsReplayed) {
  const ShellOutcome recorded = doppel(fmt::format("record -o {} -- {}", trace(), demo("")));
  ASSERT_EQ(recorded.status, 0) << recorded.output;
  EXPECT_NE(recorded.output.find("verified"), std::string::npos) << "the demo's own output";
  const ShellOutcome replayed = doppel("replay --compare " + trace());
  EXPECT_EQ(replayed.status, 0) << replayed.output;
  EXPECT_NE(replayed.output.find("bytes of results are equal"), std::string::npos)
      << replayed.output;
  const ShellOutcome decoded = doppel("decode " + trace());
  EXPECT_EQ(decoded.status, 0) << decoded.output.substr(0, 2000);
  for (const char* text : {"submission 1", "COPY_LINEAR", "DISPATCH_DIRECT", "KERNEL_DISPATCH"}) {
    EXPECT_NE(decoded.output.find(text), std::string::npos) << text;
  }
  const ShellOutcome moved = doppel("replay --compare --move 0x100000000000 " + trace());
  EXPECT_EQ(moved.status, 0) << moved.output;
  EXPECT_NE(moved.output.find("addresses moved"), std::string::npos) << moved.output;
}

TEST_F(RecordCommand, ARealMachinesPathIsRecordedToo) {
  const ShellOutcome recorded =
      doppel(fmt::format("run --gpu gfx1100,cu=8 -- {} record -o {} -- {}", doppel_command(),
                         trace(), demo("--backend kfd:0")));
  ASSERT_EQ(recorded.status, 0) << recorded.output;
  const ShellOutcome replayed = doppel("replay --compare --backend mock:gfx1100,cu=8 " + trace());
  EXPECT_EQ(replayed.status, 0) << replayed.output;
  // And the way back: what the emulator recorded, on the driver of a real machine.
  ASSERT_EQ(doppel(fmt::format("record -o {} -- {}", trace(), demo("--backend mock:gfx1100,cu=8")))
                .status,
            0);
  const ShellOutcome back = doppel(fmt::format(
      "run --gpu gfx1100,cu=8 -- {} replay --compare --backend kfd {}", doppel_command(), trace()));
  EXPECT_EQ(back.status, 0) << back.output;
}

TEST_F(RecordCommand, StatusesAreTold) {
  EXPECT_EQ(doppel(fmt::format("record -o {} -- sh -c 'exit 7'", trace())).status, 7);
  const ShellOutcome nothing = doppel(fmt::format("record -o {} -- true", trace()));
  EXPECT_EQ(nothing.status, 1);
  EXPECT_NE(nothing.output.find("opened no GPU"), std::string::npos) << nothing.output;
  EXPECT_EQ(doppel(fmt::format("record -o {} -- no-such-program", trace())).status, 127);
}

TEST_F(RecordCommand, DamagedTracesAreRefused) {
  ASSERT_EQ(doppel(fmt::format("record -o {} -- {}", trace(), demo(""))).status, 0);
  fs::resize_file(trace(), fs::file_size(trace()) - 7);
  const ShellOutcome cut = doppel("replay " + trace());
  EXPECT_EQ(cut.status, 2);
  EXPECT_NE(cut.output.find("The trace has no end"), std::string::npos) << cut.output;
  std::ofstream(trace()) << "something else entirely, but long enough to be looked at closely";
  EXPECT_NE(doppel("replay " + trace()).output.find("no trace"), std::string::npos);
}

}  // namespace
}  // namespace doppel::testing
