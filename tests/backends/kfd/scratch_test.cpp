#include "backends/kfd/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppel::kfd {
namespace {

constexpr ScratchShape kRx7900Xtx{.family = GfxFamily::Gfx11,
                                  .compute_units = 96,
                                  .shader_engines = 6,
                                  .slots_per_compute_unit = 32};
constexpr ScratchShape kRx6900Xt{.family = GfxFamily::Gfx10_3,
                                 .compute_units = 80,
                                 .shader_engines = 4,
                                 .slots_per_compute_unit = 32};

/// What a client that has run on this card for years programs for 4,096 bytes a lane: 512 granules
/// of 256 bytes a wave, 512 waves an engine, 384 MiB in all.
TEST(Scratch, MatchesAProvenClientOnGfx1100) {
  const auto plan = plan_scratch(kRx7900Xtx, 4096, 32);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tmpring_size, 512u << 12 | 512u);
  EXPECT_EQ(plan->total_bytes, uint64_t{384} << 20);
  EXPECT_EQ(plan->waves, 3072u);
}

TEST(Scratch, WaveSizeRoundsUpToTheGranule) {
  const auto small = plan_scratch(kRx7900Xtx, 4, 32);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->bytes_per_wave, 256u);
  const auto odd = plan_scratch(kRx7900Xtx, 164, 32);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->bytes_per_wave, 5376u);
  const auto old = plan_scratch(kRx6900Xt, 164, 32);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->bytes_per_wave, 6144u) << "1 KiB granules before gfx11";
  EXPECT_EQ(old->tmpring_size, 6u << 12 | 2560u) << "waves of the whole device before gfx11";
}

TEST(Scratch, Wave64TakesTwiceAsMuch) {
  const auto narrow = plan_scratch(kRx7900Xtx, 64, 32), wide = plan_scratch(kRx7900Xtx, 64, 64);
  ASSERT_TRUE(narrow && wide);
  EXPECT_EQ(wide->bytes_per_wave, 2 * narrow->bytes_per_wave);
}

TEST(Scratch, FewerWavesOnRequestButNeverNone) {
  const auto half = plan_scratch(kRx7900Xtx, 4096, 32, 1536);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->waves, 1536u);
  EXPECT_EQ(half->tmpring_size & 0xfff, 256u);
  const auto least = plan_scratch(kRx7900Xtx, 4096, 32, 1);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->waves, 6u) << "one per engine";
}

TEST(Scratch, WavesFieldSaturates) {
  ScratchShape huge = kRx6900Xt;
  huge.compute_units = 304;
  const auto plan = plan_scratch(huge, 64, 64);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tmpring_size & 0xfff, 0xfffu);
  EXPECT_EQ(plan->waves, 4095u);
}

TEST(Scratch, TooMuchForTheRegisterIsRefused) {
  // 15 bits of 256 bytes for 32 lanes: 262,136 bytes a lane.
  EXPECT_TRUE(plan_scratch(kRx7900Xtx, 262136, 32));
  const auto plan = plan_scratch(kRx7900Xtx, 262144, 32);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), StatusCode::OutOfRange);
  EXPECT_THAT(plan.error().message(), ::testing::HasSubstr("(262136 bytes)"));
}

}  // namespace
}  // namespace doppel::kfd
