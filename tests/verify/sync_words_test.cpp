#include "emulator/verify/sync_words.h"

#include <gtest/gtest.h>

namespace doppel::verify {
namespace {

constexpr uint64_t kWord = 0x1000;

Past after(ActorId actor, uint64_t number) {
  Past past;
  past.order().add({actor, Line::Front, number});
  return past;
}

WordCondition at_least(uint64_t reference) {
  return {.address = kWord,
          .reference = reference,
          .mask = 0xffffffff,
          .compare = emu::Compare::GreaterEqual};
}

bool knows(const Past& past, ActorId actor, uint64_t number) {
  return past.order().covers(Epoch{actor, Line::Front, number});
}

class SyncWordsTest : public ::testing::Test {
 protected:
  SyncWordsTest() { words.watch(kWord, 0, {}); }
  SyncWords words;
  Past past;
};

TEST_F(SyncWordsTest, AWaitJoinsTheWriteThatEndsIt) {
  words.write(kWord, 4, 1, after(1, 10), nullptr, false);
  ASSERT_NE(words.wait(at_least(1), past), nullptr);
  EXPECT_TRUE(knows(past, 1, 10));
}

TEST_F(SyncWordsTest, AWaitProvesNoMoreThanTheEarliestWriteThatSatisfiesIt) {
  words.write(kWord, 4, 1, after(1, 10), nullptr, false);
  words.write(kWord, 4, 2, after(1, 20), nullptr, false);
  words.write(kWord, 4, 3, after(1, 30), nullptr, false);
  ASSERT_NE(words.wait(at_least(2), past), nullptr);
  EXPECT_TRUE(knows(past, 1, 20));
  EXPECT_FALSE(knows(past, 1, 30));
}

TEST_F(SyncWordsTest, AWaitThatTheFirstValueSatisfiesProvesNothing) {
  words.write(kWord, 4, 1, after(1, 10), nullptr, false);
  EXPECT_EQ(words.wait(at_least(0), past), nullptr);
  EXPECT_FALSE(knows(past, 1, 10));
}

TEST_F(SyncWordsTest, AResetBetweenMakesTheWaitProveTheLaterWrite) {
  words.write(kWord, 4, 5, after(1, 10), nullptr, false);
  words.write(kWord, 4, 0, after(2, 1), nullptr, false);
  words.write(kWord, 4, 5, after(1, 20), nullptr, false);
  words.wait(at_least(5), past);
  EXPECT_TRUE(knows(past, 1, 20));
}

TEST_F(SyncWordsTest, AtomicsPublishWhatEarlierOnesPublished) {
  words.write(kWord, 8, 2, after(1, 1), nullptr, true);
  words.write(kWord, 8, 1, after(2, 1), nullptr, true);
  words.write(kWord, 8, 0, after(3, 1), nullptr, true);
  words.wait({.address = kWord, .compare = emu::Compare::Equal, .is_64 = true}, past);
  EXPECT_TRUE(knows(past, 1, 1) && knows(past, 2, 1) && knows(past, 3, 1));
}

TEST_F(SyncWordsTest, AnUnseenStoreBelongsToTheHost) {
  words.write(kWord, 4, 1, after(1, 10), nullptr, false);
  words.watch(kWord, 7, after(kHost, 3));
  words.wait(at_least(7), past);
  EXPECT_TRUE(knows(past, kHost, 3));
  EXPECT_FALSE(knows(past, 1, 10));
}

TEST_F(SyncWordsTest, TheUpperHalfOfAWordIsAWordOfItsOwn) {
  WordCondition upper = at_least(1);
  upper.address = kWord + 4;
  words.write(kWord + 4, 4, uint64_t{1} << 32, after(1, 10), nullptr, false);
  EXPECT_EQ(words.wait(at_least(1), past), nullptr);
  EXPECT_NE(words.wait(upper, past), nullptr);
  EXPECT_TRUE(knows(past, 1, 10));
}

}  // namespace
}  // namespace doppel::verify
