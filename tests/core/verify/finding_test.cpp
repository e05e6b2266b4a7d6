#include "core/verify/finding.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/verify/report.h"
#include "tests/paths.h"

namespace doppel::verify {
namespace {

Finding sample() {
  Finding finding;
  finding.rule = RuleId::ReadAfterWrite;
  finding.message = "COPY_LINEAR reads bytes that kernel saxpy writes, and nothing orders the two.";
  Culprit writer;
  writer.role = "writes";
  writer.actor = "queue 1 (pm4, gpu 0)";
  writer.action = "DISPATCH_DIRECT";
  writer.place = "at dword 40 of the ring";
  writer.packet_offset = 40;
  writer.kernel = KernelPlace{"saxpy", 0x7f0000001048, 0x48, 3, 5};
  Culprit reader;
  reader.role = "reads";
  reader.actor = "queue 2 (sdma, gpu 0)";
  reader.action = "COPY_LINEAR";
  reader.place = "at dword 0 of the ring";
  reader.packet = "00000001 000003ff";
  finding.culprits = {writer, reader};
  finding.range = BufferRange{"vram 3", 0x40, 128, 0x7f0000100040};
  finding.missing = "a wait of queue 2 for a signal that queue 1 stores after its dispatch";
  return finding;
}

TEST(Finding, TextNamesRuleCulpritsBytesAndFix) {
  EXPECT_EQ(sample().to_string(),
            "error: read-after-write: COPY_LINEAR reads bytes that kernel saxpy writes, and "
            "nothing orders the two.\n"
            "  first:   queue 1 (pm4, gpu 0), DISPATCH_DIRECT at dword 40 of the ring, kernel "
            "saxpy pc 0x7f0000001048 (+0x48) wave 3 lane 5: writes\n"
            "  second:  queue 2 (sdma, gpu 0), COPY_LINEAR at dword 0 of the ring: reads\n"
            "  packet:  00000001 000003ff\n"
            "  bytes:   vram 3+0x40, 128 bytes (va 0x7f0000100040)\n"
            "  missing: a wait of queue 2 for a signal that queue 1 stores after its dispatch\n"
            "  fix:     Signal after the write and wait for it before the read.\n");
}

TEST(FindingLog, CountsWhatItKnows) {
  FindingLog log;
  log.add(sample());
  log.add(sample());
  Finding other = sample();
  other.culprits[1].place = "at dword 7 of the ring";
  log.add(other);
  ASSERT_EQ(log.findings().size(), 2u);
  EXPECT_EQ(log.findings()[0].count, 2u);
  EXPECT_EQ(log.count(RuleId::ReadAfterWrite), 2u);
  EXPECT_EQ(log.find(RuleId::WriteAfterRead), nullptr);
  EXPECT_NE(log.to_string().find("2 findings."), std::string::npos);
}

TEST(FindingLog, SuppressedFindingsAreKeptApartWithTheirReason) {
  FindingLog log;
  log.suppress(Suppressions::parse("read-after-write saxpy # the reader polls").value());
  log.add(sample());
  EXPECT_TRUE(log.empty());
  ASSERT_EQ(log.suppressed().size(), 1u);
  EXPECT_EQ(log.suppressed()[0].reason, "the reader polls");
  EXPECT_EQ(log.suppressions().all()[0].used, 1u);
}

TEST(Suppressions, MatchByRuleCategoryAndText) {
  const auto parsed = Suppressions::parse(
      "# a comment\n\n  hazard queue 7 # known\nwrite-after-write # all of them\n");
  ASSERT_TRUE(parsed);
  const Rule& raw = rule(RuleId::ReadAfterWrite);
  EXPECT_NE(parsed->find(raw, "... queue 7 ..."), nullptr);
  EXPECT_EQ(parsed->find(raw, "... queue 8 ..."), nullptr);
  EXPECT_NE(parsed->find(rule(RuleId::WriteAfterWrite), "anything"), nullptr);
}

TEST(Suppressions, WantAReasonAndAKnownRule) {
  EXPECT_EQ(Suppressions::parse("hazard").error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(Suppressions::parse("no-such-rule # why").error().code(), StatusCode::InvalidArgument);
}

TEST(Report, JsonHoldsEveryFact) {
  FindingLog log;
  log.add(sample());
  const auto json = nlohmann::json::parse(report(log, ReportFormat::Json, "train.py"));
  const auto& finding = json["findings"][0];
  EXPECT_EQ(json["subject"], "train.py");
  EXPECT_EQ(finding["rule"], "read-after-write");
  EXPECT_EQ(finding["culprits"][0]["kernel"]["lane"], 5);
  EXPECT_EQ(finding["culprits"][1]["actor"], "queue 2 (sdma, gpu 0)");
  EXPECT_EQ(finding["range"]["offset"], 0x40);
  EXPECT_EQ(finding["severity"], "error");
}

TEST(Report, SarifNamesRulesByIndexAndJustifiesSuppressions) {
  FindingLog log;
  log.add(sample());
  Finding other = sample();
  other.rule = RuleId::WriteAfterRead;
  log.suppress(Suppressions::parse("write-after-read # benign").value());
  log.add(other);
  const auto sarif = nlohmann::json::parse(report(log, ReportFormat::Sarif));
  const auto& run = sarif["runs"][0];
  ASSERT_EQ(run["results"].size(), 2u);
  const auto& result = run["results"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"],
            result["ruleId"]);
  EXPECT_EQ(result["relatedLocations"].size(), 1u);
  EXPECT_EQ(run["results"][1]["suppressions"][0]["justification"], "benign");
}

TEST(Report, JunitFailsTheRulesThatWereBroken) {
  FindingLog log;
  Finding finding = sample();
  finding.message = "a < b & \"c\"";
  log.add(finding);
  const std::string xml = report(log, ReportFormat::Junit, "train.py");
  EXPECT_NE(xml.find("failures=\"1\""), std::string::npos);
  EXPECT_NE(xml.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_NE(xml.find("<testcase classname=\"train.py.hazard\" name=\"write-after-write\"/>"),
            std::string::npos);
}

TEST(Report, GithubAnnotationsAreOneLineEach) {
  FindingLog log;
  log.add(sample());
  const std::string text = report(log, ReportFormat::Github);
  EXPECT_TRUE(text.starts_with("::error title=doppel read-after-write::"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST(Rules, AreNamedOnceAndComplete) {
  for (const Rule& rule : rules()) {
    EXPECT_EQ(find_rule(rule.name), &rule);
    EXPECT_TRUE(rule.title.ends_with('.')) << rule.name;
    EXPECT_TRUE(rule.fix.ends_with('.')) << rule.name;
    EXPECT_GT(rule.reason.size(), 40u) << rule.name;
    EXPECT_FALSE(rule.example.empty()) << rule.name;
  }
}

TEST(Rules, DocumentIsCurrent) {
  std::stringstream text;
  text << std::ifstream(test::source_dir() / "docs/rules.md").rdbuf();
  if (text.str() == rules_markdown()) return;
  const auto copy = doppel::test::binary_dir() / "rules.md";
  std::ofstream(copy) << rules_markdown();
  ADD_FAILURE() << "Copy " << copy << " to docs/.";
}

}  // namespace
}  // namespace doppel::verify
