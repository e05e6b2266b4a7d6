#include "tools/vectors/compare.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/tools/isa_case_builder.h"

namespace doppel::vectors {
namespace {

constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();

TEST(UlpDistance, CountsRepresentableValuesBetween) {
  EXPECT_EQ(ulp_distance(FloatType::F32, 0x3f800000, 0x3f800003), 3u);
  EXPECT_EQ(ulp_distance(FloatType::F32, 0x00000001, 0x80000001), 2u);
  EXPECT_EQ(ulp_distance(FloatType::F32, 0x00000000, 0x80000000), 0u);
  EXPECT_EQ(ulp_distance(FloatType::F16x2, 0x3c00, 0x3bff), 1u);
  EXPECT_EQ(ulp_distance(FloatType::F64, 0x3ff0000000000000, 0x3ff0000000000002), 2u);
  EXPECT_EQ(ulp_distance(FloatType::F64, 0x7fefffffffffffff, 0xffefffffffffffff),
            2 * uint64_t{0x7fefffffffffffff});
}

TEST(UlpDistance, KeepsNanApart) {
  EXPECT_EQ(ulp_distance(FloatType::F32, 0x7fc00000, 0xffffffff), 0u);
  EXPECT_EQ(ulp_distance(FloatType::F32, 0x7fc00000, 0x7f800000), kFar);
  EXPECT_EQ(ulp_distance(FloatType::Bf16x2, 0x7f80, 0x7f81), kFar);
  EXPECT_EQ(ulp_distance(FloatType::F16x2, 0x7c01, 0x7c00), kFar);
}

IsaCase state_case(uint32_t flags, FloatType type, uint32_t ulp) {
  IsaCase one{.flags = flags, .block = {1, 1, 1}, .float_type = type, .ulp = ulp};
  one.expected.resize(4 * 35);
  one.mask.assign(one.expected.size(), std::byte{1});
  return one;
}

std::vector<std::byte> with_dword(const IsaCase& one, size_t index, uint32_t value) {
  auto output = one.expected;
  std::memcpy(&output[4 * index], &value, 4);
  return output;
}

TEST(CompareOutput, NamesTheFirstDifferenceAndCountsTheRest) {
  IsaCase one = state_case(0, FloatType::None, 0);
  one.mask[4 * 17] = std::byte{2};
  auto output = with_dword(one, 17, 5);
  output[4 * 20] = std::byte{1};
  const auto mismatch = compare_output(one, output);
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->where, "s1");
  EXPECT_EQ(mismatch->expected, 0u);
  EXPECT_EQ(mismatch->got, 5u);
  EXPECT_TRUE(mismatch->hardware_checked);
  EXPECT_EQ(mismatch->others, 1u);
}

TEST(CompareOutput, IgnoresMaskedBytes) {
  IsaCase one = state_case(0, FloatType::None, 0);
  one.mask[9] = std::byte{0};
  EXPECT_FALSE(compare_output(one, with_dword(one, 2, 0x0000ff00)));
  EXPECT_TRUE(compare_output(one, with_dword(one, 2, 0x0001ff00)));
}

TEST(CompareOutput, AllowsUlpsOnlyWhereTheCaseIsApproximate) {
  EXPECT_TRUE(compare_output(state_case(0, FloatType::F32, 2),
                             with_dword(state_case(0, FloatType::F32, 2), 3, 1)));
  const IsaCase one = state_case(IsaCase::kApproximate, FloatType::F32, 0);
  EXPECT_FALSE(compare_output(one, with_dword(one, 3, 2)));
  EXPECT_TRUE(compare_output(one, with_dword(one, 3, 3)));
  EXPECT_TRUE(compare_output(one, with_dword(one, 16, 1))) << "scalars are exact";
}

TEST(CompareOutput, JoinsRegisterPairsToDoubles) {
  IsaCase one = state_case(IsaCase::kApproximate, FloatType::F64, 3);
  const uint32_t high = 0x3ff00000;
  std::memcpy(&one.expected[4 * 5], &high, 4);
  EXPECT_FALSE(compare_output(one, with_dword(one, 4, 3)));
  EXPECT_TRUE(compare_output(one, with_dword(one, 4, 4)));
}

TEST(CompareOutput, ComparesHalvesOfPackedValues) {
  const IsaCase one = state_case(IsaCase::kApproximate, FloatType::F16x2, 1);
  EXPECT_FALSE(compare_output(one, with_dword(one, 0, 0x00010001)));
  EXPECT_TRUE(compare_output(one, with_dword(one, 0, 0x00020001)));
}

}  // namespace
}  // namespace doppel::vectors
