// SMEM: scalar loads, buffer loads, the clock.
#include <gtest/gtest.h>

#include "tests/emulator/isa/memory/memory_program.h"

namespace doppel::oracle {
namespace {

TEST(ScalarLoad, TakesEverySizeAndOffset) {
  MemoryProgram program(R"(
    s_load_b512 s[20:35], s[8:9], 0x40
    s_load_b32 s36, s[8:9], 0x100
    s_mov_b32 s40, 0x80
    s_load_b64 s[38:39], s[8:9], s40 offset:0x8
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v20, s35
    v_mov_b32 v21, s36
    v_mov_b32 v22, s39
    s_add_u32 s8, s8, 0x100
    s_load_b32 s36, s[8:9], -0xfc
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v23, s36
)");
  program.fill_target(512);
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[0][0], program.target_at<uint32_t>(0x40 + 60));
  EXPECT_EQ(program.results[0][1], program.target_at<uint32_t>(0x100));
  EXPECT_EQ(program.results[0][2], program.target_at<uint32_t>(0x8c));
  EXPECT_EQ(program.results[0][3], program.target_at<uint32_t>(4));
}

TEST(ScalarLoad, IgnoresTheLowAddressBits) {
  MemoryProgram program("s_load_b32 s20, s[8:9], 0x7\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v20, s20");
  program.fill_target(64);
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.results[0][0], program.target_at<uint32_t>(4));
}

TEST(ScalarLoad, FaultsBeyondTheMapping) {
  MemoryProgram program("s_load_b128 s[20:23], s[8:9], 0x34");
  program.fill_target(64);
  auto done = program.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, emu::FaultKind::UnmappedAccess);
  EXPECT_EQ(done.error().address, kTarget + 64);
}

TEST(ScalarLoad, NullStaysZero) {
  MemoryProgram program(R"(
    s_load_b32 null, s[8:9], 0x0
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v20, null
    s_load_b32 s20, s[8:9], null
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v21, s20
)");
  program.fill_target(64);
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[0][0], 0u);
  EXPECT_EQ(program.results[0][1], program.target_at<uint32_t>(0));
}

TEST(ScalarBufferLoad, GivesZeroBeyondTheRecords) {
  MemoryProgram program(R"(
    s_mov_b32 s14, 0x18
    s_mov_b32 s15, 0
    s_mov_b64 s[12:13], s[8:9]
    s_buffer_load_b128 s[20:23], s[12:15], 0x10
    s_buffer_load_b32 s24, s[12:15], 0x14
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v20, s20
    v_mov_b32 v21, s21
    v_mov_b32 v22, s22
    v_mov_b32 v23, s24
)");
  program.fill_target(64);
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[0][0], program.target_at<uint32_t>(0x10));
  EXPECT_EQ(program.results[0][1], program.target_at<uint32_t>(0x14));
  EXPECT_EQ(program.results[0][2], 0u);
  EXPECT_EQ(program.results[0][3], program.target_at<uint32_t>(0x14));
}

TEST(ScalarClock, IsTheInjectedOne) {
  MemoryProgram program(R"(
    s_memrealtime s[20:21]
    s_memtime s[22:23]
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v20, s20
    v_mov_b32 v21, s21
    s_dcache_inv
    s_gl1_inv
    buffer_gl0_inv
    buffer_gl1_inv
)",
                        "gfx1030");
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[0][0], 0u);
  EXPECT_EQ(program.results[0][1], 0u);
}

}  // namespace
}  // namespace doppel::oracle
