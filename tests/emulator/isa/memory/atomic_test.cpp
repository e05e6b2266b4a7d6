// Atomics on global memory: each operation against plain arithmetic, conflicts within a wave and
// between workgroups on several threads, alignment.
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <limits>

#include "tests/emulator/isa/memory/memory_program.h"

namespace doppel::oracle {
namespace {

struct Atomic {
  const char* name;
  std::function<uint64_t(uint64_t memory, uint64_t data)> apply;
};

uint64_t clamped_sub(uint64_t memory, uint64_t data) {
  return memory < data ? 0 : memory - data;
}
uint64_t increment(uint64_t memory, uint64_t data) {
  return memory >= data ? 0 : memory + 1;
}
uint64_t decrement(uint64_t memory, uint64_t data) {
  return memory == 0 || memory > data ? data : memory - 1;
}
int32_t s32(uint64_t value) {
  return static_cast<int32_t>(value);
}
int64_t s64(uint64_t value) {
  return static_cast<int64_t>(value);
}
float f32(uint64_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value));
}
uint64_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

const Atomic kAtomics32[] = {
    {"swap_b32", [](uint64_t, uint64_t d) { return d; }},
    {"add_u32", [](uint64_t m, uint64_t d) { return (m + d) & 0xffffffff; }},
    {"sub_u32", [](uint64_t m, uint64_t d) { return (m - d) & 0xffffffff; }},
    {"csub_u32", clamped_sub},
    {"min_i32", [](uint64_t m, uint64_t d) { return s32(d) < s32(m) ? d : m; }},
    {"min_u32", [](uint64_t m, uint64_t d) { return std::min(m, d); }},
    {"max_i32", [](uint64_t m, uint64_t d) { return s32(d) > s32(m) ? d : m; }},
    {"max_u32", [](uint64_t m, uint64_t d) { return std::max(m, d); }},
    {"and_b32", [](uint64_t m, uint64_t d) { return m & d; }},
    {"or_b32", [](uint64_t m, uint64_t d) { return m | d; }},
    {"xor_b32", [](uint64_t m, uint64_t d) { return m ^ d; }},
    {"inc_u32", increment},
    {"dec_u32", decrement},
    {"add_f32", [](uint64_t m, uint64_t d) { return bits(f32(m) + f32(d)); }},
    {"min_f32", [](uint64_t m, uint64_t d) { return f32(d) < f32(m) ? d : m; }},
    {"max_f32", [](uint64_t m, uint64_t d) { return f32(d) > f32(m) ? d : m; }},
};

const Atomic kAtomics64[] = {
    {"swap_b64", [](uint64_t, uint64_t d) { return d; }},
    {"add_u64", [](uint64_t m, uint64_t d) { return m + d; }},
    {"sub_u64", [](uint64_t m, uint64_t d) { return m - d; }},
    {"min_i64", [](uint64_t m, uint64_t d) { return s64(d) < s64(m) ? d : m; }},
    {"min_u64", [](uint64_t m, uint64_t d) { return std::min(m, d); }},
    {"max_i64", [](uint64_t m, uint64_t d) { return s64(d) > s64(m) ? d : m; }},
    {"max_u64", [](uint64_t m, uint64_t d) { return std::max(m, d); }},
    {"and_b64", [](uint64_t m, uint64_t d) { return m & d; }},
    {"or_b64", [](uint64_t m, uint64_t d) { return m | d; }},
    {"xor_b64", [](uint64_t m, uint64_t d) { return m ^ d; }},
    {"inc_u64", increment},
    {"dec_u64", decrement},
};

// Values around which operations change their mind, as integers and as floats.
constexpr uint32_t kValues[] = {0,          1,          2,          0x7fffffff,
                                0x80000000, 0xffffffff, 0x3f800000, 0xbf800000,
                                0x40490fdb, 0x00000001, 0x80000001, 100};

// Lanes 2k and 2k+1 share an element: the second one sees the first one's result.
template <class Value>
void check(const Atomic& atomic, const std::string& data_registers,
           const std::string& result_registers) {
  SCOPED_TRACE(atomic.name);
  MemoryProgram program(std::string("global_atomic_") + atomic.name + " " + result_registers +
                        ", v[10:11], " + data_registers + ", off glc");
  program.target.resize(16 * sizeof(Value));
  std::vector<Value> memory(16);
  for (uint32_t l = 0; l < 32; ++l) {
    program.lanes[l].address = kTarget + l / 2 * sizeof(Value);
    program.lanes[l].data = {kValues[l % std::size(kValues)], kValues[(l / 3) % std::size(kValues)],
                             0, 0};
  }
  for (uint32_t i = 0; i < 16; ++i) {
    const uint64_t low = kValues[(i * 5 + 3) % std::size(kValues)];
    const uint64_t high = kValues[(i * 7 + 1) % std::size(kValues)];
    memory[i] = static_cast<Value>(low | high << 32);
    program.set_target(i * sizeof(Value), memory[i]);
  }
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 32; ++l) {
    const auto& data = program.lanes[l].data;
    const auto operand = static_cast<Value>(data[0] | uint64_t{data[1]} << 32);
    Value returned;
    std::memcpy(&returned, program.results[l].data(), sizeof returned);
    EXPECT_EQ(returned, memory[l / 2]) << "lane " << l;
    memory[l / 2] = static_cast<Value>(atomic.apply(memory[l / 2], operand));
  }
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(program.target_at<Value>(i * sizeof(Value)), memory[i]) << "element " << i;
  }
}

TEST(GlobalAtomics, Of32Bits) {
  for (const Atomic& atomic : kAtomics32) check<uint32_t>(atomic, "v12", "v20");
}

TEST(GlobalAtomics, Of64Bits) {
  for (const Atomic& atomic : kAtomics64) check<uint64_t>(atomic, "v[12:13]", "v[20:21]");
}

TEST(GlobalAtomics, WithoutReturnLeaveTheRegisters) {
  MemoryProgram program("global_atomic_add_u32 v[10:11], v12, off");
  program.target.resize(4);
  program.exec = 0x0000ffff;
  for (auto& lane : program.lanes) lane = {kTarget, 0, {2, 0, 0, 0}};
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.target_at<uint32_t>(0), 32u);
  EXPECT_EQ(program.results[0][0], kPreset);
}

TEST(GlobalAtomics, CompareAndSwap) {
  MemoryProgram program(
      "global_atomic_cmpswap_b32 v20, v[10:11], v[12:13], off glc\n"
      "global_atomic_cmpswap_b64 v[22:23], v[10:11], v[12:15], off offset:256 glc");
  program.target.resize(512);
  for (uint32_t l = 0; l < 32; ++l) {
    const uint32_t stored = l % 2 == 0 ? 7 : 8;
    program.set_target<uint32_t>(8 * l, stored);
    program.set_target<uint64_t>(256 + 8 * l, l % 4 < 2 ? 0x0000000900000007u : 5u);
    // 32 bits: new value 100, compared with 7; 64 bits: new 0x7_0000_0064, compared with 9:7.
    program.lanes[l] = {kTarget + 8 * l, 0, {100, 7, 7, 9}};
  }
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l][0], l % 2 == 0 ? 7u : 8u);
    EXPECT_EQ(program.target_at<uint32_t>(8 * l), l % 2 == 0 ? 100u : 8u);
    EXPECT_EQ(program.results[l][2], l % 4 < 2 ? 7u : 5u);
    EXPECT_EQ(program.target_at<uint64_t>(256 + 8 * l), l % 4 < 2 ? 0x0000000700000064u : 5u);
  }
}

TEST(GlobalAtomics, OfFloatsCompareAsFloats) {
  MemoryProgram program("global_atomic_cmpswap_f32 v20, v[10:11], v[12:13], off glc");
  program.target.resize(128);
  program.set_target<uint32_t>(0, 0x80000000);  // -0 equals +0
  program.set_target<uint32_t>(4, 0x7fc00000);  // NaN equals nothing
  for (uint32_t l = 0; l < 32; ++l) {
    program.lanes[l] = {kTarget + 4 * l, 0, {0x3f800000, l == 1 ? 0x7fc00000u : 0u, 0, 0}};
  }
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.target_at<uint32_t>(0), 0x3f800000u);
  EXPECT_EQ(program.target_at<uint32_t>(4), 0x7fc00000u);
}

TEST(GlobalAtomics, OfGfx10HaveTheirOwnNamesAndF64) {
  MemoryProgram program(
      "global_atomic_fmin_x2 v[20:21], v[10:11], v[12:13], off glc\n"
      "global_atomic_fcmpswap_x2 v[22:23], v[10:11], v[12:15], off offset:256 glc",
      "gfx1030");
  program.target.resize(512);
  const double small = -2.5;
  for (uint32_t l = 0; l < 32; ++l) {
    program.set_target<double>(8 * l, l);
    program.set_target<double>(256 + 8 * l, l % 2 == 0 ? small : 1.0);
    program.lanes[l].address = kTarget + 8 * l;
    std::memcpy(program.lanes[l].data.data(), &small, 8);
    std::memcpy(program.lanes[l].data.data() + 2, &small, 8);
  }
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.target_at<double>(8 * 9), small);
  EXPECT_EQ(program.results[9][1], std::bit_cast<uint64_t>(9.0) >> 32);
  EXPECT_EQ(program.target_at<double>(256), small);
}

TEST(GlobalAtomics, AreNaturallyAligned) {
  for (const char* text : {"global_atomic_add_u32 v20, v[10:11], v12, off glc",
                           "global_atomic_add_u64 v[20:21], v[10:11], v[12:13], off glc"}) {
    MemoryProgram program(text);
    program.target.resize(64);
    for (auto& lane : program.lanes) lane.address = kTarget + 2;
    auto done = program.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, emu::FaultKind::Misaligned);
    EXPECT_EQ(done.error().wave->lane, 0u);
  }
}

TEST(GlobalAtomics, NeedBothPermissions) {
  MemoryProgram program("global_atomic_add_u32 v[10:11], v12, off");
  program.target.resize(64);
  program.target_permissions = kReadOnly;
  for (auto& lane : program.lanes) lane.address = kTarget;
  auto done = program.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, emu::FaultKind::PermissionDenied);
}

TEST(GlobalAtomics, OfWorkgroupsOnSeveralThreadsLoseNothing) {
  ProgramRun program("gfx1100", R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_mov_b32 v1, 0
    v_mov_b32 v2, 1
    v_mov_b32 v3, 1.0
    s_movk_i32 s6, 50
    s_waitcnt lgkmcnt(0)
  again:
    global_atomic_add_u32 v1, v2, s[4:5]
    global_atomic_add_f32 v1, v3, s[4:5] offset:4
    s_sub_i32 s6, s6, 1
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 again
    s_endpgm
)");
  std::vector<uint32_t> memory(2);
  program.add(memory);
  program.launch().grid = {64, 1, 1};
  auto done = program.run({.workers = 2});
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(memory[0], 64u * 32 * 50);
  EXPECT_EQ(std::bit_cast<float>(memory[1]), 64.0f * 32 * 50);
}

}  // namespace
}  // namespace doppel::oracle
