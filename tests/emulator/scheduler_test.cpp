#include "emulator/scheduler.h"

#include "emulator/pct_schedule.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace doppel::emu {
namespace {

/// Works `steps` times and logs its name each time.
class Worker final : public Block {
 public:
  Worker(char name, int steps, std::string& log) : name_(name), left_(steps), log_(log) {}

  std::string name() const override { return {name_}; }
  bool runnable() override { return left_ > 0; }
  uint64_t step() override {
    log_ += name_;
    --left_;
    if (on_step) on_step();
    return 10;
  }
  bool idle() override { return left_ == 0; }

  std::function<void()> on_step;

 private:
  char name_;
  int left_;
  std::string& log_;
};

std::string order(uint64_t seed) {
  std::string log;
  RandomSchedule schedule(seed);
  Scheduler scheduler(schedule);
  Worker a('a', 6, log), b('b', 6, log), c('c', 6, log);
  for (Block* block : {&a, &b, &c}) scheduler.add(*block);
  while (scheduler.step()) {
  }
  return log;
}

TEST(Scheduler, SameSeedSameOrderOtherSeedAnother) {
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
}

TEST(Scheduler, EveryInterleavingOfTwoBlocksHappens) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::string log;
    RandomSchedule schedule(seed);
    Scheduler scheduler(schedule);
    Worker a('a', 2, log), b('b', 2, log);
    scheduler.add(a);
    scheduler.add(b);
    while (scheduler.step()) {
    }
    orders.insert(log);
  }
  EXPECT_EQ(orders.size(), 6u);  // 4! / (2! 2!)
}

TEST(Scheduler, AdvancesTheClockByTheWorkDone) {
  std::string log;
  RandomSchedule schedule(1);
  Scheduler scheduler(schedule);
  Worker a('a', 3, log);
  scheduler.add(a);
  while (scheduler.step()) {
  }
  EXPECT_EQ(scheduler.clock().now_ns(), 30u);
  EXPECT_EQ(scheduler.steps(), 3u);
}

TEST(Scheduler, AHostThatIsNotDelayedGoesOnAtOnce) {
  std::string log;
  RandomSchedule schedule(1);
  Scheduler scheduler(schedule);
  Worker a('a', 1, log);
  scheduler.add(a);
  EXPECT_FALSE(scheduler.step(true));
  EXPECT_EQ(log, "");
}

TEST(Scheduler, AHostThatIsDelayedIsOneOfTheChoices) {
  struct Slow final : Schedule {
    size_t choose(std::span<Block* const> runnable) override {
      seen.push_back(runnable.size());
      EXPECT_EQ(runnable.back(), nullptr);
      return seen.size() == 1 ? 0 : runnable.size() - 1;
    }
    bool delays_host() const override { return true; }
    std::vector<size_t> seen;
  } schedule;
  std::string log;
  Scheduler scheduler(schedule);
  Worker a('a', 2, log);
  scheduler.add(a);
  EXPECT_TRUE(scheduler.step(true));
  EXPECT_FALSE(scheduler.step(true)) << "the host's turn";
  EXPECT_EQ(log, "a");
  EXPECT_EQ(schedule.seen, (std::vector<size_t>{2, 2}));
}

TEST(PctSchedule, TheMostImportantBlockGoesOnUntilItIsDone) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::string log;
    PctSchedule schedule(seed, 1);
    Scheduler scheduler(schedule);
    Worker a('a', 3, log), b('b', 3, log);
    scheduler.add(a);
    scheduler.add(b);
    while (scheduler.step()) {
    }
    orders.insert(log);
  }
  EXPECT_EQ(orders, (std::set<std::string>{"aaabbb", "bbbaaa"}));
}

TEST(PctSchedule, ChangesPrioritiesOnceLessThanItsDepth) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::string log;
    PctSchedule schedule(seed, 2, 6);
    Scheduler scheduler(schedule);
    Worker a('a', 3, log), b('b', 3, log);
    scheduler.add(a);
    scheduler.add(b);
    while (scheduler.step()) {
    }
    orders.insert(log);
  }
  EXPECT_EQ(orders,
            (std::set<std::string>{"aaabbb", "bbbaaa", "abbbaa", "aabbba", "baaabb", "bbaaab"}));
}

TEST(Scheduler, StopsWhenNothingIsRunnable) {
  RandomSchedule schedule(1);
  Scheduler scheduler(schedule);
  EXPECT_FALSE(scheduler.step());
  EXPECT_EQ(scheduler.clock().now_ns(), 0u);
}

TEST(Scheduler, BlocksComeAndGoWhileOneSteps) {
  std::string log;
  RandomSchedule schedule(1);
  Scheduler scheduler(schedule);
  Worker a('a', 1, log), b('b', 1, log);
  scheduler.add(a);
  a.on_step = [&] {
    scheduler.remove(a);
    scheduler.add(b);
  };
  while (scheduler.step()) {
  }
  EXPECT_EQ(log, "ab");
  EXPECT_EQ(scheduler.blocks().size(), 1u);
}

}  // namespace
}  // namespace doppel::emu
