// The reduction against brute force, on programs of a few threads that read and write variables and
// wait for them: the same results, from fewer schedules.
#include "backends/explore/schedule_tree.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "core/prng.h"

namespace doppel::explorer {
namespace {

using verify::ActorNumber;

constexpr size_t kVariables = 3;
constexpr uint64_t kMaxSchedules = 2'000'000;

enum class Kind : uint8_t { Add, Copy, Set, Await };

struct Operation {
  Kind kind = Kind::Add;
  size_t to = 0, from = 0;  // variables
  uint64_t value = 0;
};

using Thread = std::vector<Operation>;
using Threads = std::vector<Thread>;

Threads random_threads(uint64_t seed) {
  Prng prng(seed);
  Threads threads(2 + prng.below(2));
  for (Thread& thread : threads) {
    thread.resize(1 + prng.below(threads.size() == 2 ? 5 : 3));
    for (Operation& op : thread) {
      op = {static_cast<Kind>(prng.below(4)), prng.below(kVariables), prng.below(kVariables),
            1 + prng.below(3)};
    }
  }
  return threads;
}

/// A run of the threads: variables' values at its end, and where each thread has come to.
class Machine {
 public:
  explicit Machine(const Threads& threads)
      : threads_(threads), next_(threads.size()), waits_(threads.size()) {}

  std::vector<ActorNumber> enabled() const {
    std::vector<ActorNumber> enabled;
    for (size_t thread = 0; thread < threads_.size(); ++thread) {
      if (next_[thread] == threads_[thread].size()) continue;
      const Operation& op = threads_[thread][next_[thread]];
      if (waits_[thread] && variables_[op.from] != op.value) continue;
      enabled.push_back(static_cast<ActorNumber>(thread));
    }
    return enabled;
  }

  /// A wait is looked at once, whether it holds or not, and again when it holds; as the front-ends
  /// of queues do it.
  void step(ActorNumber thread, verify::Footprint& touched) {
    const Operation& op = threads_[thread][next_[thread]];
    waits_[thread] = op.kind == Kind::Await && variables_[op.from] != op.value;
    next_[thread] += !waits_[thread];
    if (op.kind != Kind::Set) touched.add(op.from, 0, 1, false);
    if (op.kind != Kind::Await) touched.add(op.to, 0, 1, true);
    switch (op.kind) {
      case Kind::Add:
        variables_[op.to] = variables_[op.to] * 3 + variables_[op.from] + op.value;
        break;
      case Kind::Copy:
        variables_[op.to] = variables_[op.from];
        break;
      case Kind::Set:
        variables_[op.to] = op.value;
        break;
      case Kind::Await:
        break;
    }
    if (op.kind == Kind::Add) touched.add(op.to, 0, 1, false);
  }

  std::string result() const {
    std::string text;
    for (uint64_t value : variables_) text += std::to_string(value) + ' ';
    for (size_t at : next_) text += '/' + std::to_string(at);
    return text;
  }

 private:
  const Threads& threads_;
  std::array<uint64_t, kVariables> variables_{};
  std::vector<size_t> next_;
  std::vector<bool> waits_;
};

struct All {
  std::set<std::string> results;
  uint64_t schedules = 0;
};

All run_all(const Threads& threads, bool reduce) {
  All all;
  ScheduleTree tree(reduce);
  for (bool more = true; more && all.schedules < kMaxSchedules;) {
    verify::StepLog log;
    tree.begin(log);
    Machine machine(threads);
    for (auto enabled = machine.enabled(); !enabled.empty(); enabled = machine.enabled()) {
      const ActorNumber thread = tree.decide(enabled);
      machine.step(thread, log.current().touched);
    }
    all.results.insert(machine.result());
    ++all.schedules;
    EXPECT_TRUE(tree.end());
    more = tree.advance();
  }
  EXPECT_LT(all.schedules, kMaxSchedules);
  return all;
}

class ReducedTree : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ReducedTree, GivesTheResultsOfAllSchedules) {
  for (uint64_t seed = GetParam() * 100; seed < (GetParam() + 1) * 100; ++seed) {
    const Threads threads = random_threads(seed);
    const All every = run_all(threads, false), few = run_all(threads, true);
    EXPECT_EQ(few.results, every.results) << "seed " << seed;
    EXPECT_LE(few.schedules, every.schedules) << "seed " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, ReducedTree, ::testing::Range<uint64_t>(0, 10));

TEST(ReducedTree, NeedsOneScheduleWhereNothingIsShared) {
  const Threads threads = {{{Kind::Set, 0, 0, 1}, {Kind::Set, 0, 0, 2}, {Kind::Set, 0, 0, 3}},
                           {{Kind::Set, 1, 0, 1}, {Kind::Set, 1, 0, 2}, {Kind::Set, 1, 0, 3}},
                           {{Kind::Set, 2, 0, 1}, {Kind::Set, 2, 0, 2}}};
  EXPECT_EQ(run_all(threads, false).schedules, 560u);  // 8! / (3! 3! 2!)
  EXPECT_EQ(run_all(threads, true).schedules, 1u);
}

TEST(ReducedTree, TriesBothOrdersOfOneConflict) {
  const Threads threads = {{{Kind::Set, 1, 0, 1}, {Kind::Set, 0, 0, 1}},
                           {{Kind::Set, 2, 0, 1}, {Kind::Set, 0, 0, 2}}};
  const All few = run_all(threads, true);
  EXPECT_EQ(few.schedules, 2u);
  EXPECT_EQ(few.results.size(), 2u);
}

TEST(ScheduleTree, NoticesAProgramThatDoesSomethingElse) {
  ScheduleTree tree(true);
  for (ActorNumber second : {1u, 2u}) {
    verify::StepLog log;
    tree.begin(log);
    tree.decide({0, second});
    EXPECT_EQ(tree.end(), second == 1);
    tree.advance();
  }
}

}  // namespace
}  // namespace doppel::explorer
