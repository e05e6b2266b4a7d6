// Division as LLVM expands it for these GPUs: V_DIV_SCALE, V_RCP, Newton steps, V_DIV_FMAS and
// V_DIV_FIXUP give the quotient that IEEE 754 demands, whose oracle is the host's own division.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/prng.h"
#include "tests/emulator/isa/oracle/program_run.h"

namespace doppel::oracle {
namespace {

// v[0:1] = offset, numerator and denominator loaded, quotient stored.
constexpr const char* kDivideF32 = R"(
  s_load_b128 s[4:7], s[0:1], null
  s_load_b64 s[8:9], s[0:1], 16
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_b32 v1, v0, s[4:5]
  global_load_b32 v2, v0, s[6:7]
  s_waitcnt vmcnt(0)
  v_div_scale_f32 v4, null, v2, v2, v1
  v_div_scale_f32 v5, vcc_lo, v1, v2, v1
  v_rcp_f32 v6, v4
  v_fma_f32 v7, -v4, v6, 1.0
  v_fmac_f32 v6, v7, v6
  v_mul_f32 v7, v5, v6
  v_fma_f32 v8, -v4, v7, v5
  v_fmac_f32 v7, v8, v6
  v_fma_f32 v8, -v4, v7, v5
  v_div_fmas_f32 v8, v8, v6, v7
  v_div_fixup_f32 v8, v8, v2, v1
  global_store_b32 v0, v8, s[8:9]
  s_endpgm
)";

constexpr const char* kDivideF64 = R"(
  s_load_b128 s[4:7], s[0:1], null
  s_load_b64 s[8:9], s[0:1], 16
  v_lshlrev_b32 v0, 3, v0
  s_waitcnt lgkmcnt(0)
  global_load_b64 v[2:3], v0, s[4:5]
  global_load_b64 v[4:5], v0, s[6:7]
  s_waitcnt vmcnt(0)
  v_div_scale_f64 v[6:7], null, v[4:5], v[4:5], v[2:3]
  v_rcp_f64 v[8:9], v[6:7]
  v_fma_f64 v[10:11], -v[6:7], v[8:9], 1.0
  v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]
  v_fma_f64 v[10:11], -v[6:7], v[8:9], 1.0
  v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]
  v_div_scale_f64 v[10:11], vcc_lo, v[2:3], v[4:5], v[2:3]
  v_mul_f64 v[12:13], v[10:11], v[8:9]
  v_fma_f64 v[6:7], -v[6:7], v[12:13], v[10:11]
  v_div_fmas_f64 v[6:7], v[6:7], v[8:9], v[12:13]
  v_div_fixup_f64 v[6:7], v[6:7], v[4:5], v[2:3]
  global_store_b64 v0, v[6:7], s[8:9]
  s_endpgm
)";

template <class T>
struct Bits;
template <>
struct Bits<float> {
  using Type = uint32_t;
};
template <>
struct Bits<double> {
  using Type = uint64_t;
};

/// Numbers about which division is hard, then random bits.
template <class T>
std::vector<T> operands(Prng& prng, size_t count) {
  using Limits = std::numeric_limits<T>;
  const T largest = Limits::max(), smallest = Limits::min(), denormal = Limits::denorm_min();
  std::vector<T> values = {T(1),
                           T(3),
                           T(-10),
                           largest,
                           -largest / 2,
                           largest / 8,
                           smallest,
                           smallest * 3,
                           -denormal,
                           denormal * 7,
                           smallest / 2,
                           T(0),
                           T(-0.0),
                           T(0.1),
                           T(1) / 3,
                           Limits::infinity(),
                           -Limits::infinity()};
  while (values.size() < count) {
    values.push_back(std::bit_cast<T>(static_cast<typename Bits<T>::Type>(prng.next())));
  }
  return values;
}

template <class T>
void divide_all(const char* program) {
  Prng prng(31);
  const std::vector<T> values = operands<T>(prng, 96);
  std::vector<T> numerators, denominators;
  for (const T a : values) {
    for (const T b : values) {
      numerators.push_back(a);
      denominators.push_back(b);
    }
  }
  for (size_t first = 0; first + kLanes <= numerators.size(); first += kLanes) {
    std::vector<T> a(numerators.begin() + first, numerators.begin() + first + kLanes);
    std::vector<T> b(denominators.begin() + first, denominators.begin() + first + kLanes);
    std::vector<T> quotients(kLanes);
    ProgramRun run("gfx1100", program);
    run.add(a);
    run.add(b);
    run.add(quotients);
    const auto done = run.run();
    ASSERT_TRUE(done.has_value()) << done.error().to_string();
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const T expected = a[lane] / b[lane];
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(quotients[lane])) << a[lane] << " / " << b[lane];
      } else {
        EXPECT_EQ(std::bit_cast<typename Bits<T>::Type>(quotients[lane]),
                  std::bit_cast<typename Bits<T>::Type>(expected))
            << std::hexfloat << a[lane] << " / " << b[lane] << " = " << expected << ", not "
            << quotients[lane];
      }
    }
  }
}

TEST(Division, F32QuotientsAreCorrectlyRounded) {
  divide_all<float>(kDivideF32);
}

TEST(Division, F64QuotientsAreCorrectlyRounded) {
  divide_all<double>(kDivideF64);
}

}  // namespace
}  // namespace doppel::oracle
