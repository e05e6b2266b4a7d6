// The page's text: one file that needs nothing else, whose data is the run's.
#include "backends/report/page.h"

#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/backends/report/observed_machine.h"

namespace doppel::report::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What the page's script reads.
std::string data_of(const std::string& page) {
  const std::string begin = R"(<script id="run" type="application/json">)";
  const size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

TEST(Page, HoldsTheRun) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("pipeline"));
  const report::Run& run = machine.run();
  const auto data = nlohmann::json::parse(data_of(to_html(run)));
  EXPECT_EQ(data, nlohmann::json::parse(to_json(run)));
  EXPECT_EQ(data["spans"].size(), run.spans.size());
  EXPECT_EQ(data["nodes"].size(), run.nodes.size());
  EXPECT_EQ(data["edges"].size(), run.edges.size());
  const auto& kernel = data["kernels"][0];
  uint64_t executed = 0, mixed = 0;
  for (const auto& unit : kernel["units"]) executed += unit[1].get<uint64_t>();
  for (const auto& mnemonic : kernel["mix"]) mixed += mnemonic[1].get<uint64_t>();
  EXPECT_EQ(kernel["instructions"], executed);
  EXPECT_EQ(kernel["instructions"], mixed);
}

TEST(Page, NeedsNoOtherFile) {
  const std::string page = to_html(report::Run{});
  EXPECT_THAT(page, Not(HasSubstr("@SCRIPT@")));
  EXPECT_THAT(page, Not(HasSubstr("@STYLE@")));
  EXPECT_THAT(page, Not(HasSubstr("@RUN@")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"((src|href)\s*=\s*["']?(https?:)?//)")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(@import|url\(\s*["']?http|fetch\()")));
}

TEST(Page, NamesCanNotEndTheScript) {
  report::Run run;
  run.title = "</script><script>alert(1)</script> @SCRIPT@ \xff";
  const std::string page = to_html(run);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(nlohmann::json::parse(data_of(page))["title"],
            "</script><script>alert(1)</script> @SCRIPT@ \xef\xbf\xbd");
}

TEST(Page, FindingsNameTheirWork) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.race());
  const auto data = nlohmann::json::parse(to_json(machine.run()));
  ASSERT_EQ(data["findings"].size(), 1u);
  const auto& culprits = data["findings"][0]["nodes"];
  ASSERT_EQ(culprits.size(), 2u);
  for (const size_t node : culprits) EXPECT_EQ(data["nodes"][node]["name"], "COPY_LINEAR");
  EXPECT_NE(culprits[0], culprits[1]);
}

}  // namespace
}  // namespace doppel::report::test
