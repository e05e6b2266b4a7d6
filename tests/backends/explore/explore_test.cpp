// Exploration: what every order gives, how few orders show it, and orders that chance misses.
#include "backends/explore/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <regex>
#include <string>

#include "backends/open_device.h"
#include "core/prng.h"
#include "tests/paths.h"

namespace doppel {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr std::string_view kMachine = "mock:gfx1100,cu=2,vram=64MiB";
constexpr uint32_t kWords = 16;

/// Where memory lies differs from run to run.
std::string without_addresses(const std::string& text) {
  return std::regex_replace(text, std::regex("0x[0-9a-f]+"), "0x.");
}

/// Small, zeroed, reached by every GPU.
Allocation words(Gpus gpus) {
  auto memory = gpus[0]->allocate(kWords * 4, {.domain = MemoryDomain::Gtt, .coherent = true});
  EXPECT_TRUE(memory) << memory.error().to_string();
  for (const auto& gpu : gpus.subspan(1)) EXPECT_TRUE(gpu->map(*memory));
  EXPECT_TRUE(gpus[0]->write(*memory, std::vector<uint32_t>(kWords)));
  return *std::move(memory);
}

Result<Bytes> result_of(Gpus gpus, const Allocation& memory) {
  for (const auto& gpu : gpus) DOPPEL_TRY(gpu->synchronize());
  Bytes bytes(kWords * 4);
  DOPPEL_TRY(gpus[0]->read(memory, std::span(bytes)));
  return bytes;
}

Exploration explored(const Scenario& scenario, ExploreOptions options = {}) {
  options.machine = kMachine;
  auto exploration = explore(scenario, options);
  EXPECT_TRUE(exploration) << exploration.error().to_string();
  return exploration ? *std::move(exploration) : Exploration{};
}

/// Two fills of one buffer, ordered or not.
Result<Bytes> two_fills(Gpus gpus, bool ordered) {
  Device& gpu = *gpus[0];
  const Allocation memory = words(gpus);
  DOPPEL_ASSIGN(const Signal done, gpu.create_signal());
  DOPPEL_ASSIGN(const auto other, gpu.create_queue({.kind = QueueKind::Sdma}));
  DOPPEL_TRY(gpu.sdma().fill(memory, 1).signal(done, 1).submit());
  SdmaCommands second(*other);
  if (ordered) second.wait(done, 1);
  DOPPEL_TRY(second.fill(memory, 2).submit());
  DOPPEL_TRY(other->synchronize());
  return result_of(gpus, memory);
}

TEST(Explore, FindsBothResultsOfARace) {
  ExploreOptions all;
  all.stop_at_failure = false;
  const Exploration race = explored([](Gpus gpus) { return two_fills(gpus, false); }, all);
  EXPECT_TRUE(race.complete);
  EXPECT_EQ(race.outcomes.size(), 2u);
  ASSERT_TRUE(race.counterexample);
  EXPECT_THAT(race.counterexample->what, HasSubstr("write-after-write"));
}

TEST(Explore, AnOrderedProgramHasOneResult) {
  const Exploration ordered = explored([](Gpus gpus) { return two_fills(gpus, true); });
  EXPECT_TRUE(ordered.complete);
  EXPECT_EQ(ordered.outcomes.size(), 1u);
  EXPECT_FALSE(ordered.counterexample) << ordered.counterexample->to_string();
}

/// A wait for a value that the signal has only for as long as the fills in between take: whoever
/// looks too late waits for ever.
Result<Bytes> short_window(Gpus gpus) {
  constexpr int kFills = 20;
  Device& gpu = *gpus[0];
  const Allocation busy = words(gpus), out = words(gpus);
  DOPPEL_ASSIGN(const Signal stage, gpu.create_signal());
  DOPPEL_ASSIGN(const auto other, gpu.create_queue({.kind = QueueKind::Sdma}));
  SdmaCommands producer = gpu.sdma();
  producer.signal(stage, 1);
  for (int fill = 0; fill < kFills; ++fill) producer.fill(busy, 1);
  DOPPEL_TRY(producer.signal(stage, 2).submit());
  SdmaCommands consumer(*other);
  DOPPEL_TRY(consumer.wait(stage, 1, SignalCondition::Equal).fill(out, 7).submit());
  DOPPEL_TRY(other->synchronize());
  return result_of(gpus, out);
}

TEST(Explore, FindsWhatAThousandRandomSchedulesMiss) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    const auto gpus = open_devices(fmt::format("{},seed={}", kMachine, seed)).value();
    const auto result = short_window(gpus);
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().to_string();
  }
  const Exploration all = explored(short_window);
  ASSERT_TRUE(all.counterexample) << all.schedules << " schedules, complete: " << all.complete;
  EXPECT_THAT(all.counterexample->what, HasSubstr("POLL_REGMEM"));
  // The producer to its end before the consumer has looked once, and the host.
  EXPECT_LE(all.counterexample->schedule.turns.size(), 6u) << all.counterexample->to_string();
}

TEST(Explore, AFailingScheduleFailsAgainAsItDid) {
  const Exploration all = explored(short_window);
  ASSERT_TRUE(all.counterexample);
  const auto kept = ScheduleRecord::parse(all.counterexample->schedule.to_json());
  ASSERT_TRUE(kept) << kept.error().to_string();
  EXPECT_EQ(kept->what, all.counterexample->what);
  for (int time = 0; time < 100; ++time) {
    const auto again = replay(short_window, *kept);
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_FALSE(again->diverged);
    EXPECT_EQ(again->schedule.turns, kept->turns);
    ASSERT_FALSE(again->result);
    EXPECT_EQ(without_addresses(again->result.error().to_string()), without_addresses(kept->what));
  }
}

/// By its file, in a program that knows nothing of exploration.
TEST(Explore, AMachineFollowsASavedSchedule) {
  const Exploration all = explored(short_window);
  ASSERT_TRUE(all.counterexample);
  const std::string file = testing::TempDir() + "doppel_short_window.json";
  ASSERT_TRUE(all.counterexample->schedule.save(file));
  const auto gpus = open_devices(fmt::format("{},schedule={}", kMachine, file)).value();
  const auto result = short_window(gpus);
  ASSERT_FALSE(result);
  EXPECT_EQ(without_addresses(result.error().to_string()),
            without_addresses(all.counterexample->what));
}

TEST(Explore, PrioritiesFindWhatChanceMisses) {
  uint32_t failed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto gpus = open_devices(fmt::format("{},pct=2,seed={}", kMachine, seed)).value();
    failed += !short_window(gpus);
  }
  EXPECT_GT(failed, 2u);
  EXPECT_LT(failed, 18u);
}

TEST(Explore, TellsOfTurnsThatNobodyCanTake) {
  const ScheduleRecord impossible{std::string(kMachine), "", {{"queue 77 (sdma, gpu 0)", 1}}};
  const auto again = replay([](Gpus gpus) { return two_fills(gpus, true); }, impossible);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_TRUE(again->diverged);
  EXPECT_TRUE(again->result);
}

/// A random program of unordered SDMA work on two queues and two buffers.
Result<Bytes> random_race(Gpus gpus, uint64_t seed) {
  Prng prng(seed);
  Device& gpu = *gpus[0];
  const Allocation memory[] = {words(gpus), words(gpus)};
  DOPPEL_ASSIGN(const auto other, gpu.create_queue({.kind = QueueKind::Sdma}));
  SdmaCommands both[] = {gpu.sdma(), SdmaCommands(*other)};
  for (SdmaCommands& commands : both) {
    for (uint64_t count = 1 + prng.below(2); count > 0; --count) {
      const Allocation& to = memory[prng.below(2)];
      if (prng.below(2) == 0) {
        commands.fill(to, static_cast<uint32_t>(1 + prng.below(3)));
      } else {
        commands.copy(memory[prng.below(2)], to);
      }
    }
    DOPPEL_TRY(commands.submit());
  }
  DOPPEL_TRY(other->synchronize());
  DOPPEL_ASSIGN(Bytes all, result_of(gpus, memory[0]));
  DOPPEL_ASSIGN(const Bytes rest, result_of(gpus, memory[1]));
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

TEST(Explore, HasEveryResultThatChanceFinds) {
  size_t racy = 0;
  for (uint64_t program = 1; program <= 20; ++program) {
    const Scenario scenario = [=](Gpus gpus) { return random_race(gpus, program); };
    ExploreOptions options;
    options.stop_at_failure = false;
    options.minimize_runs = 0;
    const Exploration all = explored(scenario, options);
    EXPECT_TRUE(all.complete) << "program " << program;
    racy += all.outcomes.size() > 1;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      const auto gpus = open_devices(fmt::format("{},seed={}", kMachine, seed)).value();
      const auto result = scenario(gpus);
      ASSERT_TRUE(result) << result.error().to_string();
      EXPECT_THAT(all.outcomes, Contains(Field(&Outcome::result, *result)))
          << "program " << program << ", seed " << seed;
    }
  }
  EXPECT_GT(racy, 5u);
}

TEST(Explore, StopsWhereItIsTold) {
  ExploreOptions few;
  few.max_schedules = 2;
  const Exploration some = explored([](Gpus gpus) { return two_fills(gpus, true); }, few);
  EXPECT_EQ(some.schedules, 2u);
  EXPECT_FALSE(some.complete);
}

TEST(Explore, AProgramThatDoesNotRepeatItselfIsRefused) {
  int runs = 0;
  const auto all = explore([&](Gpus gpus) { return two_fills(gpus, ++runs % 2 == 0); },
                           {.machine = std::string(kMachine), .stop_at_failure = false});
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().to_string(), HasSubstr("does not repeat itself"));
}

TEST(Explore, OnlyEmulatedMachinesAreExplored) {
  const auto all = explore([](Gpus gpus) { return two_fills(gpus, true); }, {.machine = "kfd:0"});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code(), StatusCode::Unsupported);
}

}  // namespace
}  // namespace doppel
