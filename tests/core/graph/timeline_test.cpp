// Timelines: what a viewer gets for the nodes of two GPUs and three queues.
#include "core/graph/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/core/graph/fake_device.h"

namespace doppel::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;

struct TimelineTest : testing::Test {
  GraphNodeProfile node(uint32_t number, std::string name, FakeDevice& device, QueueKind queue,
                        double start_ns, double end_ns, std::vector<uint32_t> waits_for = {}) {
    return {.node = number,
            .name = std::move(name),
            .device = &device,
            .queue = queue,
            .start_ns = start_ns,
            .end_ns = end_ns,
            .waits_for = std::move(waits_for)};
  }
  std::vector<json> events(const json& timeline, std::string_view phase) {
    std::vector<json> found;
    for (const json& event : timeline["traceEvents"])
      if (event["ph"] == phase) found.push_back(event);
    return found;
  }

  FakeMemory memory;
  FakeDevice first{memory, "mock:0"}, second{memory, "mock:1"};
};

TEST_F(TimelineTest, DrawsNodesOnTheTracksOfTheirQueuesAndSignalsBetweenThem) {
  const TimelineLaunch launch{
      .name = "step 1",
      .nodes = {node(0, "upload", first, QueueKind::Sdma, 5000, 6500),
                node(1, "saxpy", first, QueueKind::Pm4, 7000, 9000, {0}),
                node(2, "blur \"fast\"", second, QueueKind::Pm4, 9250, 9500, {0, 1})}};
  const json timeline = json::parse(timeline_json({{launch}}));

  std::map<std::pair<int, int>, std::string> queues;
  std::map<int, std::string> gpus;
  for (const json& event : events(timeline, "M")) {
    if (event["name"] == "process_name") gpus[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name")
      queues[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  EXPECT_THAT(gpus, ElementsAre(testing::Pair(0, "mock:0"), testing::Pair(1, "mock:1")));
  EXPECT_EQ(queues.size(), 3u);

  const auto slices = events(timeline, "X");
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[1]["name"], "saxpy");
  EXPECT_EQ(slices[1]["ts"], 2.0) << "microseconds from the first start";
  EXPECT_EQ(slices[1]["dur"], 2.0);
  EXPECT_EQ(slices[1]["args"]["node"], 1);
  EXPECT_EQ((queues[{slices[1]["pid"], slices[1]["tid"]}]), "pm4 queue");
  EXPECT_EQ((queues[{slices[0]["pid"], slices[0]["tid"]}]), "sdma queue");
  EXPECT_EQ(slices[2]["pid"], 1);
  EXPECT_EQ(slices[2]["name"], "blur \"fast\"");

  const auto starts = events(timeline, "s"), ends = events(timeline, "f");
  ASSERT_EQ(starts.size(), 3u);
  ASSERT_EQ(ends.size(), 3u);
  for (size_t arrow = 0; arrow < 3; ++arrow) EXPECT_EQ(starts[arrow]["id"], ends[arrow]["id"]);
  EXPECT_EQ(starts[0]["ts"], 1.5) << "where upload ends";
  EXPECT_EQ(ends[0]["ts"], 2.0) << "where saxpy begins";
  EXPECT_NE(starts[0]["id"], starts[1]["id"]);
}

TEST_F(TimelineTest, OfNothingIsEmpty) {
  EXPECT_EQ(json::parse(timeline_json({}))["traceEvents"].size(), 0u);
}

TEST_F(TimelineTest, LaunchesShareTracksAndOrigin) {
  const TimelineLaunch launches[] = {
      {.name = "a", .nodes = {node(0, "k", first, QueueKind::Aql, 3000, 4000)}},
      {.name = "b", .nodes = {node(0, "k", first, QueueKind::Aql, 1000, 2000)}}};
  const json timeline = json::parse(timeline_json(launches));
  EXPECT_EQ(events(timeline, "M").size(), 2u);
  const auto slices = events(timeline, "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["ts"], 2.0);
  EXPECT_EQ(slices[1]["ts"], 0.0);
  EXPECT_EQ(slices[0]["cat"], "a");
}

}  // namespace
}  // namespace doppel::test
