#include "backends/kfd/argument_ring.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/prng.h"

namespace doppel::kfd {
namespace {

TEST(ArgumentRing, PlacesAreAlignedAndDistinct) {
  ArgumentRing ring(1024, 256);
  EXPECT_EQ(ring.allocate(1, 1), 0u);
  EXPECT_EQ(ring.allocate(256, 2), 256u);
  EXPECT_EQ(ring.allocate(257, 3), 512u);
  EXPECT_EQ(ring.allocate(1, 4), std::nullopt);
}

TEST(ArgumentRing, RetiredPlacesComeBackInOrder) {
  ArgumentRing ring(1024, 256);
  for (uint64_t number = 1; number <= 4; ++number) ASSERT_TRUE(ring.allocate(256, number));
  ring.retire(1);
  EXPECT_EQ(ring.allocate(512, 5), std::nullopt) << "one block is free, two are wanted";
  EXPECT_EQ(ring.allocate(256, 5), 0u);
  ring.retire(5);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.allocate(1024, 6), 0u);
}

TEST(ArgumentRing, ABlockDoesNotWrap) {
  ArgumentRing ring(1024, 256);
  ASSERT_EQ(ring.allocate(768, 1), 0u);
  ASSERT_EQ(ring.allocate(256, 2), 768u);
  ring.retire(1);
  EXPECT_EQ(ring.allocate(512, 3), 0u) << "from the beginning, not across the end";
  EXPECT_EQ(ring.allocate(512, 4), std::nullopt);
  EXPECT_EQ(ring.allocate(256, 4), 512u);
}

TEST(ArgumentRing, MoreThanThereIsNeverFits) {
  ArgumentRing ring(1024, 256);
  EXPECT_EQ(ring.allocate(1025, 1), std::nullopt);
  EXPECT_EQ(ring.allocate(~0u, 1), std::nullopt);
  EXPECT_TRUE(ring.empty());
}

/// Property: no two blocks in flight ever overlap.
TEST(ArgumentRing, BlocksInFlightNeverOverlap) {
  constexpr uint32_t kSize = 4096, kAlignment = 64;
  struct Block {
    uint32_t begin, end;
    uint64_t number;
  };
  Prng random(7);
  ArgumentRing ring(kSize, kAlignment);
  std::vector<Block> live;
  uint64_t retired = 0, placed = 0;
  for (uint64_t number = 1; number < 20000; ++number) {
    const auto bytes = static_cast<uint32_t>(1 + random.below(900));
    const auto offset = ring.allocate(bytes, number);
    if (offset) {
      ++placed;
      ASSERT_EQ(*offset % kAlignment, 0u);
      ASSERT_LE(*offset + bytes, kSize);
      for (const Block& block : live) {
        ASSERT_TRUE(*offset + bytes <= block.begin || *offset >= block.end);
      }
      live.push_back({*offset, *offset + bytes, number});
    }
    if (!offset || random.below(3) == 0) {
      retired += random.below(number - retired + 1);
      ring.retire(retired);
      std::erase_if(live, [&](const Block& block) { return block.number <= retired; });
    }
  }
  EXPECT_GT(placed, 1000u);
}

}  // namespace
}  // namespace doppel::kfd
