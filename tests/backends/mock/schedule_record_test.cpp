// Schedules as files.
#include "backends/mock/schedule_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppel {
namespace {

using ::testing::HasSubstr;

TEST(ScheduleRecord, ComesBackAsItWas) {
  ScheduleRecord record{"mock:gfx1100,count=2", "two \"lines\"\n", {}};
  record.add("host");
  record.add("queue 0 (pm4, gpu 0)");
  record.add("queue 0 (pm4, gpu 0)");
  record.add("host");
  const auto back = ScheduleRecord::parse(record.to_json());
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(back->machine, record.machine);
  EXPECT_EQ(back->what, record.what);
  EXPECT_EQ(back->turns,
            (std::vector<Turn>{{"host", 1}, {"queue 0 (pm4, gpu 0)", 2}, {"host", 1}}));
}

TEST(ScheduleRecord, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* problem;
  } kCases[] = {
      {"", "no JSON"},
      {"[]", "no array of turns"},
      {"{}", "no array of turns"},
      {R"({"turns": 1})", "no array of turns"},
      {R"({"turns": [1]})", "not 1"},
      {R"({"turns": [["host"]]})", "[name, steps]"},
      {R"({"turns": [["host", 0]]})", "[name, steps]"},
      {R"({"turns": [["host", -1]]})", "[name, steps]"},
      {R"({"turns": [["host", 1.5]]})", "[name, steps]"},
      {R"({"turns": [[1, 1]]})", "[name, steps]"},
      {R"({"turns": [], "machine": 3})", "are texts"},
  };
  for (const auto& each : kCases) {
    const auto parsed = ScheduleRecord::parse(each.text);
    ASSERT_FALSE(parsed) << each.text;
    EXPECT_THAT(parsed.error().to_string(), HasSubstr(each.problem)) << each.text;
  }
}

TEST(ScheduleRecord, NamesTheFileThatIsMissing) {
  const auto loaded = ScheduleRecord::load("/nowhere/schedule.json");
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().to_string(), HasSubstr("/nowhere/schedule.json"));
  EXPECT_FALSE(ScheduleRecord{}.save("/nowhere/schedule.json"));
}

}  // namespace
}  // namespace doppel
