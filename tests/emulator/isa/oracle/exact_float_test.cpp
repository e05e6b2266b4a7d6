// The reference against the host's own arithmetic, in every rounding mode.
#include "tests/emulator/isa/oracle/exact_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>

#include "core/prng.h"

namespace doppel::oracle {
namespace {

constexpr int kHostRounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

class ExactFloatTest : public ::testing::TestWithParam<Rounding> {
 protected:
  void SetUp() override { std::fesetround(kHostRounding[static_cast<int>(GetParam())]); }
  void TearDown() override { std::fesetround(FE_TONEAREST); }
  Rounding rounding() const { return GetParam(); }
};

// Finite, with exponents close enough to each other that operands interact.
template <class Float, class Bits>
Float random_finite(Prng& prng) {
  while (true) {
    auto bits = static_cast<Bits>(prng.next());
    if (prng.below(4) == 0) bits &= static_cast<Bits>(prng.next() & prng.next());
    if (prng.below(2) == 0) {
      const Bits one = std::bit_cast<Bits>(Float{1});
      bits = (bits & (one >> 6 | ~(~Bits{0} >> 1))) | one;
    }
    const auto value = std::bit_cast<Float>(bits);
    if (std::isfinite(value)) return value;
  }
}

template <class Float, class Bits>
void compare_with_host(const FloatFormat& format, Rounding rounding) {
  Prng prng(7);
  const bool zero = rounding == Rounding::TowardNegative;
  for (int i = 0; i < 3000; ++i) {
    const volatile Float a = random_finite<Float, Bits>(prng);
    const volatile Float b = random_finite<Float, Bits>(prng);
    const volatile Float c = random_finite<Float, Bits>(prng);
    const auto bits = [](Float value) { return std::bit_cast<Bits>(value); };
    const volatile Float sum = a + b;
    const volatile Float product = a * b;
    const volatile Float fused = std::fma(Float{a}, Float{b}, Float{c});
    const Exact exact_a = Exact::from_float(format, bits(a));
    const Exact exact_b = Exact::from_float(format, bits(b));
    const Exact exact_product = Exact::product(format, bits(a), bits(b));
    const Exact exact_fused = exact_product + Exact::from_float(format, bits(c));
    ASSERT_EQ((exact_a + exact_b).to_float(format, rounding, zero), bits(sum)) << a << " " << b;
    ASSERT_EQ(exact_product.to_float(format, rounding, std::signbit(a) != std::signbit(b)),
              bits(product))
        << a << " " << b;
    ASSERT_EQ(exact_fused.to_float(format, rounding, zero), bits(fused)) << a << b << c;
  }
}

TEST_P(ExactFloatTest, AgreesWithTheHostOnF32) {
  compare_with_host<float, uint32_t>(kF32, rounding());
}

TEST_P(ExactFloatTest, AgreesWithTheHostOnF64) {
  compare_with_host<double, uint64_t>(kF64, rounding());
}

TEST_P(ExactFloatTest, NarrowsAsTheHostDoes) {
  Prng prng(9);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t pattern =
        (prng.next() & ~(uint64_t{0x7ff} << 52)) | (uint64_t{1023} - 160 + prng.below(300)) << 52;
    const volatile double wide = std::bit_cast<double>(pattern);
    const volatile auto narrow = static_cast<float>(wide);
    ASSERT_EQ(Exact::from_float(kF64, pattern).to_float(kF32, rounding(), false),
              std::bit_cast<uint32_t>(float{narrow}))
        << wide;
  }
}

TEST_P(ExactFloatTest, RoundsToIntegersAsTheHostDoes) {
  Prng prng(11);
  for (int i = 0; i < 3000; ++i) {
    const auto quarter_steps = static_cast<int64_t>(prng.below(2000)) - 1000;
    const volatile double value = static_cast<double>(quarter_steps) / 4;
    const auto rounded =
        Exact::from_float(kF64, std::bit_cast<uint64_t>(double{value})).to_integer(rounding());
    ASSERT_TRUE(rounded);
    ASSERT_EQ(static_cast<int64_t>(*rounded), std::llrint(value)) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryMode, ExactFloatTest,
                         ::testing::Values(Rounding::NearestEven, Rounding::TowardPositive,
                                           Rounding::TowardNegative, Rounding::TowardZero));

TEST(ExactFloat, ReadsF16) {
  EXPECT_EQ(Exact::from_float(kF16, 0x3c00).to_float(kF32, Rounding::TowardZero, false),
            0x3f800000u);
  EXPECT_EQ(Exact::from_float(kF16, 0x8001).to_float(kF32, Rounding::TowardZero, false),
            0xb3800000u);
  EXPECT_EQ(Exact::from_float(kF32, 0x477ff000).to_float(kF16, Rounding::NearestEven, false),
            0x7c00u);
  EXPECT_EQ(Exact::from_float(kF32, 0x477fefff).to_float(kF16, Rounding::NearestEven, false),
            0x7bffu);
  EXPECT_EQ(Exact::from_float(kF32, 0x33000000).to_float(kF16, Rounding::NearestEven, false), 0u);
  EXPECT_EQ(Exact::from_float(kF32, 0x33000001).to_float(kF16, Rounding::NearestEven, false), 1u);
}

}  // namespace
}  // namespace doppel::oracle
