// The interpreter's float instructions against exact arithmetic, on edge values and random ones, in
// every rounding mode, with denormals kept and flushed.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/prng.h"
#include "tests/emulator/isa/oracle/llvm_mc.h"
#include "tests/emulator/isa/oracle/program_run.h"
#include "tests/emulator/isa/oracle/reference_ops.h"

namespace doppel::oracle {
namespace {

struct Operands {
  uint64_t a = 0, b = 0, c = 0;
};
using Reference = std::function<uint64_t(const FloatMode&, const Operands&)>;

/// An instruction with up to three sources, all of one format, and what it should give.
struct Operation {
  std::string text;  // {d}, {a}, {b}, {c} are its registers
  int sources;
  FloatFormat format;
  bool wide_result;  // 64 bits
  Reference reference;
  uint64_t result_mask = ~uint64_t{0};
};

// ------------------------------------------------------------------ values

std::vector<uint64_t> edge_values(const FloatFormat& f) {
  const uint64_t one = static_cast<uint64_t>(f.bias()) << f.mantissa_bits;
  const uint64_t ulp_scale = static_cast<uint64_t>(f.bias() + f.mantissa_bits) << f.mantissa_bits;
  const uint64_t exponent_step = uint64_t{1} << f.mantissa_bits;
  std::vector<uint64_t> values = {0,
                                  1,                  // smallest denormal
                                  exponent_step - 1,  // largest denormal
                                  exponent_step / 2,  // a denormal with a low mantissa
                                  exponent_step,      // smallest normal
                                  exponent_step + 1,
                                  one - 1,
                                  one,
                                  one + 1,
                                  one + exponent_step / 2,  // 1.5
                                  one - exponent_step,      // 0.5
                                  one - exponent_step + 1,
                                  one + exponent_step,  // 2
                                  ulp_scale,            // 2^mantissa bits: ulp 1
                                  ulp_scale + 1,
                                  ulp_scale - exponent_step + 1,  // ends in .5
                                  ulp_scale - exponent_step + 3,
                                  f.infinity() - 1,  // largest finite
                                  f.infinity() - exponent_step,
                                  f.infinity(),
                                  f.infinity() + 1,  // signalling NaN
                                  f.default_nan(),
                                  f.default_nan() + 5};
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) values.push_back(values[i] | f.sign_bit());
  return values;
}

uint64_t random_value(const FloatFormat& f, Prng& prng) {
  const uint64_t mask = f.sign_bit() | (f.sign_bit() - 1);
  const uint64_t bits = prng.next() & mask;
  if (prng.below(3) == 0) return bits;
  // Close to 1, so that operands interact.
  const uint64_t exponent = static_cast<uint64_t>(f.bias()) - 3 + prng.below(7);
  return (bits & ~f.infinity()) | exponent << f.mantissa_bits;
}

std::vector<Operands> operand_sets(const FloatFormat& f, int sources) {
  std::vector<Operands> sets;
  const auto edges = edge_values(f);
  if (sources == 1) {
    for (uint64_t a : edges) sets.push_back({a, 0, 0});
  } else if (sources == 2) {
    for (uint64_t a : edges) {
      for (uint64_t b : edges) sets.push_back({a, b, 0});
    }
  } else {
    for (size_t a = 0; a < edges.size(); a += 2) {
      for (size_t b = 1; b < edges.size(); b += 2) {
        for (size_t c = 0; c < edges.size(); c += 3) sets.push_back({edges[a], edges[b], edges[c]});
      }
    }
  }
  Prng prng(5);
  for (int i = 0; i < 1500; ++i) {
    sets.push_back({random_value(f, prng), random_value(f, prng), random_value(f, prng)});
  }
  while (sets.size() % kLanes != 0) sets.push_back({});
  return sets;
}

// ------------------------------------------------------------------ running

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Every lane loads {a, b, c} (64 bits each), applies the instruction and stores 64 bits.
std::string kernel_source(const Operation& operation) {
  const bool wide = operation.format.bits() == 64;
  std::string text = operation.text;
  text = replace_all(text, "{d}", operation.wide_result ? "v[20:21]" : "v20");
  text = replace_all(text, "{a}", wide ? "v[10:11]" : "v10");
  text = replace_all(text, "{b}", wide ? "v[12:13]" : "v12");
  text = replace_all(text, "{b32}", "v12");
  text = replace_all(text, "{c}", wide ? "v[14:15]" : "v14");
  return fmt::format(R"(
    s_load_b128 s[4:7], s[0:1], 0x0
    v_and_b32 v0, 0x3ff, v0
    s_lshl_b32 s3, s2, 5
    v_add_nc_u32 v0, s3, v0
    v_lshlrev_b32 v1, 4, v0
    v_lshlrev_b32 v2, 3, v0
    v_add_nc_u32 v1, v1, v2
    v_mov_b32 v20, 0
    v_mov_b32 v21, 0
    s_waitcnt lgkmcnt(0)
    global_load_b64 v[10:11], v1, s[6:7]
    global_load_b64 v[12:13], v1, s[6:7] offset:8
    global_load_b64 v[14:15], v1, s[6:7] offset:16
    s_waitcnt vmcnt(0)
    {}
    global_store_b64 v2, v[20:21], s[4:5]
    s_endpgm
)",
                     text);
}

std::vector<uint64_t> run(const Words& code, const FloatMode& mode,
                          const std::vector<Operands>& operands) {
  std::vector<uint64_t> results(operands.size(), 0xcccccccccccccccc);
  auto inputs = operands;
  ProgramRun program("gfx1100", code);
  program.add(results);
  program.add(inputs);
  program.launch().rsrc1 = 0x3f | mode.rsrc1_bits();
  program.launch().grid = {static_cast<uint32_t>(operands.size() / kLanes), 1, 1};
  auto done = program.run();
  EXPECT_TRUE(done) << done.error().to_string();
  return results;
}

std::vector<FloatMode> all_modes() {
  std::vector<FloatMode> modes;
  for (auto rounding : {Rounding::NearestEven, Rounding::TowardPositive, Rounding::TowardNegative,
                        Rounding::TowardZero}) {
    for (bool keep : {true, false}) modes.push_back({rounding, keep, true});
  }
  modes.push_back({Rounding::NearestEven, true, false});
  return modes;
}

void check(const Operation& operation) {
  SCOPED_TRACE(operation.text);
  const Words code = LlvmMc("gfx1100").assemble_program(kernel_source(operation));
  const auto operands = operand_sets(operation.format, operation.sources);
  for (const FloatMode& mode : all_modes()) {
    const auto results = run(code, mode, operands);
    size_t wrong = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      const uint64_t expected = operation.reference(mode, operands[i]) & operation.result_mask;
      const uint64_t got = results[i] & operation.result_mask;
      if (expected == got) continue;
      if (++wrong > 3) continue;
      ADD_FAILURE() << fmt::format(
          "{} (rounding {}, denormals {}, ieee {}): a {:#x}, b {:#x}, c {:#x}: expected {:#x}, got "
          "{:#x}",
          operation.text, static_cast<int>(mode.rounding), mode.keep_denormals ? "kept" : "flushed",
          mode.ieee, operands[i].a, operands[i].b, operands[i].c, expected, got);
    }
    EXPECT_EQ(wrong, 0u) << "of " << operands.size();
  }
}

// ------------------------------------------------------------------ operations

struct NamedFormat {
  const char* name;
  FloatFormat format;
};
constexpr NamedFormat kF16Ops{"f16", kF16}, kF32Ops{"f32", kF32}, kF64Ops{"f64", kF64};

uint64_t low_bits(const FloatFormat& f) {
  return f.bits() == 64 ? ~uint64_t{0} : (uint64_t{1} << f.bits()) - 1;
}

class FloatOracle : public ::testing::TestWithParam<NamedFormat> {
 protected:
  const FloatFormat& format() const { return GetParam().format; }
  std::string name(const char* mnemonic) const {
    return fmt::format("v_{}_{}", mnemonic, GetParam().name);
  }
  void binary(const char* mnemonic,
              uint64_t (*reference)(const FloatFormat&, const FloatMode&, uint64_t, uint64_t)) {
    const FloatFormat f = format();
    check({name(mnemonic) + " {d}, {a}, {b}", 2, f, f.bits() == 64,
           [=](const FloatMode& mode, const Operands& o) { return reference(f, mode, o.a, o.b); },
           low_bits(f)});
  }
  void unary(const char* mnemonic, std::function<uint64_t(const FloatMode&, uint64_t)> reference) {
    const FloatFormat f = format();
    check({name(mnemonic) + " {d}, {a}", 1, f, f.bits() == 64,
           [=](const FloatMode& mode, const Operands& o) { return reference(mode, o.a); },
           low_bits(f)});
  }
};

TEST_P(FloatOracle, Add) {
  binary("add", ref_add);
}
TEST_P(FloatOracle, Mul) {
  binary("mul", ref_mul);
}
TEST_P(FloatOracle, Min) {
  binary("min", ref_min);
}
TEST_P(FloatOracle, Max) {
  binary("max", ref_max);
}

TEST_P(FloatOracle, Fma) {
  const FloatFormat f = format();
  check({name("fma") + " {d}, {a}, {b}, {c}", 3, f, f.bits() == 64,
         [=](const FloatMode& mode, const Operands& o) { return ref_fma(f, mode, o.a, o.b, o.c); },
         low_bits(f)});
}

TEST_P(FloatOracle, RoundingToIntegral) {
  const FloatFormat f = format();
  const auto rounds = [f](Rounding rounding) {
    return [=](const FloatMode& mode, uint64_t a) { return ref_round(f, mode, rounding, a); };
  };
  unary("rndne", rounds(Rounding::NearestEven));
  unary("trunc", rounds(Rounding::TowardZero));
  unary("floor", rounds(Rounding::TowardNegative));
  unary("ceil", rounds(Rounding::TowardPositive));
}

TEST_P(FloatOracle, Fract) {
  const FloatFormat f = format();
  unary("fract", [f](const FloatMode& mode, uint64_t a) { return ref_fract(f, mode, a); });
}

TEST_P(FloatOracle, FrexpMantissa) {
  const FloatFormat f = format();
  unary("frexp_mant",
        [f](const FloatMode& mode, uint64_t a) { return ref_frexp_mantissa(f, mode, a); });
}

TEST_P(FloatOracle, FrexpExponent) {
  const FloatFormat f = format();
  const bool half = f.bits() == 16;
  check({fmt::format("v_frexp_exp_{}_{} {{d}}, {{a}}", half ? "i16" : "i32", GetParam().name), 1, f,
         false,
         [=](const FloatMode& mode, const Operands& o) {
           return static_cast<uint64_t>(int64_t{ref_frexp_exponent(f, mode, o.a)});
         },
         half ? 0xffffu : 0xffffffffu});
}

TEST_P(FloatOracle, Compare) {
  const FloatFormat f = format();
  const auto compares = [&](const char* condition, std::function<bool(int)> holds) {
    check({fmt::format("v_cmp_{}_{} vcc_lo, {{a}}, {{b}}\n v_cndmask_b32 v20, 0, 1, vcc_lo",
                       condition, GetParam().name),
           2, f, false,
           [=](const FloatMode& mode, const Operands& o) {
             return uint64_t{holds(ref_compare(f, mode, o.a, o.b))};
           },
           0xffffffff});
  };
  compares("lt", [](int order) { return order == -1; });
  compares("eq", [](int order) { return order == 0; });
  compares("le", [](int order) { return order == -1 || order == 0; });
  compares("gt", [](int order) { return order == 1; });
  compares("lg", [](int order) { return order == -1 || order == 1; });
  compares("ge", [](int order) { return order == 1 || order == 0; });
  compares("o", [](int order) { return order != 2; });
  compares("u", [](int order) { return order == 2; });
  compares("nge", [](int order) { return order == -1 || order == 2; });
  compares("nlg", [](int order) { return order == 0 || order == 2; });
  compares("ngt", [](int order) { return order != 1; });
  compares("nle", [](int order) { return order == 1 || order == 2; });
  compares("neq", [](int order) { return order != 0; });
  compares("nlt", [](int order) { return order != -1; });
}

void PrintTo(const NamedFormat& named, std::ostream* out) {
  *out << named.name;
}

INSTANTIATE_TEST_SUITE_P(Formats, FloatOracle, ::testing::Values(kF16Ops, kF32Ops, kF64Ops),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FloatOracleF32, Subtract) {
  check({"v_sub_f32 {d}, {a}, {b}", 2, kF32, false,
         [](const FloatMode& mode, const Operands& o) { return ref_sub(kF32, mode, o.a, o.b); },
         0xffffffff});
}

Operation conversion(const char* text, const FloatFormat& from, const FloatFormat& to) {
  return {
      text,
      1,
      from,
      to.bits() == 64,
      [=](const FloatMode& mode, const Operands& o) { return ref_convert(from, to, mode, o.a); },
      low_bits(to)};
}

TEST(FloatConversions, BetweenFormats) {
  check(conversion("v_cvt_f16_f32 {d}, {a}", kF32, kF16));
  check(conversion("v_cvt_f32_f16 {d}, {a}", kF16, kF32));
  check(conversion("v_cvt_f32_f64 {d}, {a}", kF64, kF32));
  check(conversion("v_cvt_f64_f32 {d}, {a}", kF32, kF64));
}

Operation to_integer(const char* text, const FloatFormat& from, uint32_t bits, bool is_signed,
                     Rounding rounding = Rounding::TowardZero) {
  return {text,
          1,
          from,
          false,
          [=](const FloatMode& mode, const Operands& o) {
            return ref_to_integer(from, mode, rounding, bits, is_signed, o.a);
          },
          (uint64_t{1} << bits) - 1};
}

TEST(FloatConversions, ToIntegers) {
  check(to_integer("v_cvt_i32_f32 {d}, {a}", kF32, 32, true));
  check(to_integer("v_cvt_u32_f32 {d}, {a}", kF32, 32, false));
  check(to_integer("v_cvt_i32_f64 {d}, {a}", kF64, 32, true));
  check(to_integer("v_cvt_u32_f64 {d}, {a}", kF64, 32, false));
  check(to_integer("v_cvt_i16_f16 {d}, {a}", kF16, 16, true));
  check(to_integer("v_cvt_u16_f16 {d}, {a}", kF16, 16, false));
  check(to_integer("v_cvt_floor_i32_f32 {d}, {a}", kF32, 32, true, Rounding::TowardNegative));
}

Operation from_integer(const char* text, const FloatFormat& to,
                       std::function<int64_t(uint64_t)> value) {
  // The operands are patterns of f32, read as integers.
  return {text,
          1,
          kF32,
          to.bits() == 64,
          [=](const FloatMode& mode, const Operands& o) {
            return ref_from_integer(to, mode, value(o.a));
          },
          low_bits(to)};
}

TEST(FloatConversions, FromIntegers) {
  const auto as_signed = [](uint64_t a) { return int64_t{static_cast<int32_t>(a)}; };
  const auto as_unsigned = [](uint64_t a) { return static_cast<int64_t>(a & 0xffffffff); };
  const auto byte = [](int index) {
    return [index](uint64_t a) { return static_cast<int64_t>(a >> (8 * index) & 0xff); };
  };
  check(from_integer("v_cvt_f32_i32 {d}, {a}", kF32, as_signed));
  check(from_integer("v_cvt_f32_u32 {d}, {a}", kF32, as_unsigned));
  check(from_integer("v_cvt_f64_i32 {d}, {a}", kF64, as_signed));
  check(from_integer("v_cvt_f64_u32 {d}, {a}", kF64, as_unsigned));
  check(from_integer("v_cvt_f32_ubyte0 {d}, {a}", kF32, byte(0)));
  check(from_integer("v_cvt_f32_ubyte3 {d}, {a}", kF32, byte(3)));
  check(from_integer("v_cvt_f16_i16 {d}, {a}", kF16,
                     [](uint64_t a) { return int64_t{static_cast<int16_t>(a)}; }));
  check(from_integer("v_cvt_f16_u16 {d}, {a}", kF16,
                     [](uint64_t a) { return static_cast<int64_t>(a & 0xffff); }));
}

TEST(FloatScale, Ldexp) {
  const auto exponent_of = [](uint64_t b) { return static_cast<int32_t>(b); };
  check({"v_ldexp_f32 {d}, {a}, {b}", 2, kF32, false,
         [=](const FloatMode& mode, const Operands& o) {
           return ref_ldexp(kF32, mode, o.a, exponent_of(o.b));
         },
         0xffffffff});
  check({"v_bfe_i32 v16, v12, 0, 9\n v_ldexp_f32 {d}, {a}, v16", 2, kF32, false,
         [=](const FloatMode& mode, const Operands& o) {
           return ref_ldexp(kF32, mode, o.a, static_cast<int32_t>(exponent_of(o.b) << 23) >> 23);
         },
         0xffffffff});
  check({"v_bfe_i32 v16, v12, 0, 12\n v_ldexp_f64 {d}, {a}, v16", 2, kF64, true,
         [=](const FloatMode& mode, const Operands& o) {
           return ref_ldexp(kF64, mode, o.a, static_cast<int32_t>(exponent_of(o.b) << 20) >> 20);
         },
         ~uint64_t{0}});
}

}  // namespace
}  // namespace doppel::oracle
