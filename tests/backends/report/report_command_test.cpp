// `doppel report` of a trace, and `doppel run --report --timeline` of an unmodified program.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/paths.h"
#include "tests/shell.h"

namespace doppel::report::test {
namespace {

namespace fs = std::filesystem;
using doppel::test::Outcome;

class ReportCommand : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  static Outcome doppel(const std::string& arguments) {
    return doppel::test::shell(
        fmt::format("{} {} 2>&1", doppel::test::doppel_program(), arguments));
  }
  static std::string demo(const std::string& options) {
    return fmt::format("{} --count 5000 {}",
                       (doppel::test::binary_dir() / "bin" / "graph_demo").string(), options);
  }
  std::string file(const char* name) const { return (directory_ / name).string(); }
  std::string text_of(const char* name) const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }
  /// The names of the timeline's slices of a category.
  std::multiset<std::string> slices(const char* name, const char* category) const {
    std::multiset<std::string> names;
    const auto trace = nlohmann::json::parse(text_of(name));
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") == "X" && event.at("cat") == category) names.insert(event.at("name"));
    }
    return names;
  }

  fs::path directory_ =
      fs::path(::testing::TempDir()) /
      fmt::format("report-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ReportCommand, OfATrace) {
  ASSERT_EQ(doppel(fmt::format("record -o {} -- {}", file("t.dpl"), demo(""))).status, 0);
  const Outcome reported = doppel(fmt::format("report {} -o {} --timeline {}", file("t.dpl"),
                                              file("page.html"), file("timeline.json")));
  EXPECT_EQ(reported.status, 0) << reported.output;
  EXPECT_TRUE(reported.says("3 kernels, 0 findings, 0 faults")) << reported.output;
  EXPECT_NE(text_of("page.html").find("block_sums"), std::string::npos);
  EXPECT_EQ(slices("timeline.json", "kernel"),
            (std::multiset<std::string>{"saxpy", "saxpy", "blur", "block_sums"}));
}

TEST_F(ReportCommand, OfAnUnmodifiedProgramsRun) {
  const Outcome run =
      doppel(fmt::format("run --gpu gfx1100,cu=8 --report {} --timeline {} -- {}",
                         file("page.html"), file("timeline.json"), demo("--backend kfd:0")));
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_NE(text_of("page.html").find("\"title\":\"graph_demo\""), std::string::npos);
  EXPECT_EQ(slices("timeline.json", "kernel"),
            (std::multiset<std::string>{"saxpy", "saxpy", "blur", "block_sums"}));
  EXPECT_GE(slices("timeline.json", "call").count("CREATE_QUEUE"), 3u);
  EXPECT_GE(slices("timeline.json", "wait").size(), 1u);
}

TEST_F(ReportCommand, OfAnEmulatorInProcess) {
  const Outcome run = doppel::test::shell(
      fmt::format("DOPPEL_TIMELINE={} {} 2>&1", file("timeline.json"), demo("")));
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(slices("timeline.json", "kernel").size(), 4u);
}

TEST_F(ReportCommand, AFileThatCanNotBeWrittenIsTold) {
  const Outcome run = doppel("run --timeline /no/such/place -- true");
  EXPECT_NE(run.status, 0);
  EXPECT_TRUE(run.says("can't be written (/no/such/place)")) << run.output;
  EXPECT_TRUE(doppel("report /dev/null").says("At least 1 option from [-o,--output,--timeline]"));
}

}  // namespace
}  // namespace doppel::report::test
