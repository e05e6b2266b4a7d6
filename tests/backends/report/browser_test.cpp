// The page in a real browser, without a window: what it draws, and what clicks do. The picture of
// each page stays in the build's folder report/.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/report/page.h"
#include "tests/backends/report/observed_machine.h"
#include "tests/paths.h"
#include "tests/shell.h"

namespace doppel::report::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Browser : public ::testing::Test {
 protected:
  static constexpr const char* kBrowsers[] = {"chromium-headless-shell", "chromium",
                                              "google-chrome"};

  void SetUp() override {
    for (const char* candidate : kBrowsers) {
      if (doppel::test::shell(fmt::format("command -v {}", candidate)).status != 0) continue;
      browser_ = candidate;
      break;
    }
    if (browser_.empty()) GTEST_SKIP() << "No browser of Chromium's family is installed.";
    fs::create_directories(folder_);
  }

  /// What is in the page after its script and `actions`, which leave texts in `said`.
  std::string dom(const report::Run& run, const std::string& actions = "") {
    const fs::path page = folder_ / (name() + ".html");
    std::ofstream(page) << to_html(run) << "<script>const said = [];" << actions
                        << "\ndocument.body.dataset.said = said.join('|');</script>";
    return headless("--dump-dom", page);
  }
  /// The picture of the page that dom() has written.
  fs::path picture() {
    const fs::path png = folder_ / (name() + ".png");
    fs::remove(png);
    headless(fmt::format("--window-size=1400,1600 --screenshot={}", png.string()),
             folder_ / (name() + ".html"));
    return png;
  }

 private:
  static std::string name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::string headless(const std::string& action, const fs::path& page) {
    const std::string profile = (folder_ / ("browser-" + name())).string();
    fs::remove_all(profile);  // one that was killed leaves its lock
    const auto outcome = doppel::test::shell(fmt::format(
        "env -u LD_PRELOAD timeout 60 {} --headless --no-sandbox --disable-gpu --user-data-dir={} "
        "--virtual-time-budget=5000 {} file://{} 2>/dev/null",
        browser_, profile, action, page.string()));
    fs::remove_all(profile);
    EXPECT_EQ(outcome.status, 0);
    return outcome.output;
  }

  std::string browser_;
  fs::path folder_ = doppel::test::binary_dir() / "report";
};

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string bytes_of(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST_F(Browser, DrawsAllThatARunHas) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("diamond"));
  const report::Run& run = machine.run();
  const std::string page = dom(run);
  EXPECT_THAT(page, HasSubstr("data-ready=\"true\"")) << "the script has come to its end";
  EXPECT_THAT(page, HasSubstr("None: no faults, no stalls, no hazards."));
  EXPECT_EQ(count(page, "<g class=\"node "), run.nodes.size());
  EXPECT_EQ(count(page, "<path class=\"edge "), run.edges.size());
  EXPECT_EQ(count(page, "class=\"kernel-card\""), run.kernels.size());
  for (const char* kind : {"packet", "wait", "kernel", "call"}) {
    EXPECT_GT(count(page, fmt::format("class=\"span {}\"", kind)), 0u) << kind;
  }
  EXPECT_THAT(page, HasSubstr("scale_add"));
  EXPECT_THAT(page, HasSubstr("global_store_b32")) << "an instruction of the kernel";
}

TEST_F(Browser, AnswersClicks) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("pipeline"));
  const std::string page = dom(machine.run(), R"(
    const click = (node) => node.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    const details = (id) => document.querySelector(`#${id} .details`).textContent;
    const box = [...document.querySelectorAll('.node')].find((node) =>
        node.textContent.includes('scale_add'));
    click(box);
    said.push('node: ' + details('graph'));
    said.push('chosen: ' + document.querySelectorAll('.chosen').length);
    click(document.querySelector('.edge.signal'));
    said.push('edge: ' + details('graph'));
    const widths = () => [...document.querySelectorAll('.span')].reduce(
        (sum, each) => sum + Number(each.getAttribute('width')), 0);
    const before = widths();
    click(document.querySelector('button[data-zoom="0.5"]'));
    said.push('zoomed: ' + (widths() !== before));
    click(document.querySelector('button[data-zoom="all"]'));
    said.push('back: ' + (widths() === before));
    click(document.querySelector('.span.kernel'));
    said.push('span: ' + details('timeline'));)");
  EXPECT_THAT(page, HasSubstr("node: scale_add  64x1x1 workgroups of 64x1x1"));
  EXPECT_THAT(page, HasSubstr("after COPY_LINEAR: FENCE at dword"));
  EXPECT_THAT(page, HasSubstr("edge: COPY_LINEAR before scale_add, by signal"));
  EXPECT_THAT(page, HasSubstr("zoomed: true|back: true|span: scale_add"));
  EXPECT_THAT(page, ContainsRegex("chosen: [2-9]")) << "a node and what leads to it";
}

TEST_F(Browser, ShowsFindingsWithTheirWork) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.race());
  const std::string page = dom(machine.run());
  EXPECT_EQ(count(page, "<p class=\"good\""), 0u);
  EXPECT_EQ(count(page, "class=\"finding error\""), 1u);
  EXPECT_EQ(count(page, "class=\"node transfer culprit\""), 2u);
  EXPECT_EQ(count(page, "class=\"span packet culprit\""), 2u);
  EXPECT_EQ(count(page, "show COPY_LINEAR"), 2u) << "links to the work";
}

TEST_F(Browser, ItsPictureIsThere) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("diamond"));
  ASSERT_TRUE(machine.race());
  dom(machine.run());
  const std::string png = bytes_of(picture());
  ASSERT_GT(png.size(), 24u);
  EXPECT_EQ(png.substr(1, 3), "PNG");
  EXPECT_EQ(static_cast<unsigned char>(png[18]) << 8 | static_cast<unsigned char>(png[19]), 1400);
  EXPECT_GT(png.size(), 50'000u) << "more than an empty page";
}

TEST_F(Browser, ARunWithoutAnythingIsDrawn) {
  report::Run run;
  run.title = "nothing";
  run.actors = {{"host", "host"}};
  const std::string page = dom(run);
  EXPECT_THAT(page, HasSubstr("data-ready=\"true\""));
  EXPECT_THAT(page, HasSubstr("No faults, no stalls."));
}

}  // namespace
}  // namespace doppel::report::test
