#include "emulator/verify/epoch.h"

#include <gtest/gtest.h>

#include "emulator/verify/past.h"

namespace doppel::verify {
namespace {

constexpr Epoch front(ActorId actor, uint64_t number) {
  return {actor, Line::Front, number};
}
constexpr Epoch pipe(ActorId actor, uint64_t number) {
  return {actor, Line::Pipe, number};
}

TEST(Clock, CoversNothingButTheBeginning) {
  const Clock clock;
  EXPECT_TRUE(clock.covers(front(3, 0)));
  EXPECT_FALSE(clock.covers(front(0, 1)));
  EXPECT_FALSE(clock.covers(pipe(0, 1)));
}

TEST(Clock, AFrontEpochImpliesTheEarlierOnes) {
  Clock clock;
  clock.add(front(2, 5));
  EXPECT_TRUE(clock.covers(front(2, 4)));
  EXPECT_FALSE(clock.covers(front(2, 6)));
  EXPECT_FALSE(clock.covers(front(1, 1)));
  EXPECT_FALSE(clock.covers(pipe(2, 1)));
}

TEST(Clock, APipeEpochStandsAloneUntilTheGapCloses) {
  Clock clock;
  clock.add(pipe(1, 3));
  EXPECT_TRUE(clock.covers(pipe(1, 3)));
  EXPECT_FALSE(clock.covers(pipe(1, 2)));
  clock.add(pipe(1, 1));
  clock.add(pipe(1, 2));
  Clock all;
  all.add_all(pipe(1, 3));
  EXPECT_EQ(clock, all);
}

TEST(Clock, JoinKeepsWhatEitherKnows) {
  Clock a, b;
  a.add(front(0, 7));
  a.add(pipe(1, 4));
  b.add(front(0, 3));
  b.add_all(pipe(1, 2));
  EXPECT_FALSE(a.covers(b));
  a.join(b);
  EXPECT_TRUE(a.covers(b));
  EXPECT_TRUE(a.covers(front(0, 7)));
  EXPECT_TRUE(a.covers(pipe(1, 4)));
  EXPECT_FALSE(a.covers(pipe(1, 3)));
}

TEST(Past, AnInvalidationShowsWhatWasCompleteBeforeIt) {
  Past past;
  past.order().add(front(0, 1));
  past.apply(0, {CacheOp::InvalidateVector});
  past.order().add(front(0, 2));
  EXPECT_TRUE(past.shows(0, CacheOp::InvalidateVector, front(0, 1)));
  EXPECT_FALSE(past.shows(0, CacheOp::InvalidateVector, front(0, 2)));
  EXPECT_FALSE(past.shows(0, CacheOp::InvalidateScalar, front(0, 1)));
  EXPECT_FALSE(past.shows(1, CacheOp::InvalidateVector, front(0, 1)));
}

TEST(Past, JoinCarriesVisibilityAcrossActors) {
  Past a, b;
  a.order().add(front(1, 4));
  a.apply(0, {CacheOp::WriteBackL2});
  b.order().add(front(2, 9));
  b.apply(0, {CacheOp::WriteBackL2});
  b.join(a);
  EXPECT_TRUE(b.shows(0, CacheOp::WriteBackL2, front(1, 4)));
  EXPECT_TRUE(b.shows(0, CacheOp::WriteBackL2, front(2, 9)));
  EXPECT_FALSE(a.shows(0, CacheOp::WriteBackL2, front(2, 9)));
}

}  // namespace
}  // namespace doppel::verify
