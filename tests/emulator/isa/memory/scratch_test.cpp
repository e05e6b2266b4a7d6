// SCRATCH: private memory of each lane, its limit, its swizzle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/emulator/isa/memory/memory_program.h"

namespace doppel::oracle {
namespace {

using ::testing::HasSubstr;

class Scratch : public ::testing::TestWithParam<uint32_t> {};

TEST_P(Scratch, IsPrivateToTheLane) {
  const uint32_t wave_size = GetParam();
  MemoryProgram program(
      "scratch_store_b32 off, v12, off offset:4\n"
      "scratch_store_b128 v10, v[12:15], off\n"
      "scratch_load_b32 v20, off, off offset:4\n"
      "scratch_load_b32 v21, v10, off offset:8\n"
      "s_mov_b32 s11, 4\n"
      "scratch_load_b64 v[22:23], v10, s11",
      "gfx1100", wave_size);
  program.launch().scratch_bytes_per_lane = 1024;
  for (uint32_t l = 0; l < wave_size; ++l) {
    program.lanes[l] = {16 + 12 * (l % 16), 0, {l, 100 + l, 200 + l, 300 + l}};
  }
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < wave_size; ++l) {
    EXPECT_EQ(program.results[l], (std::array<uint32_t, 4>{l, 200 + l, 100 + l, 200 + l})) << l;
  }
}

INSTANTIATE_TEST_SUITE_P(WaveSizes, Scratch, ::testing::Values(32, 64));

TEST(ScratchAccess, MayBeUnalignedAndNarrow) {
  MemoryProgram program(
      "scratch_store_b64 v10, v[12:13], off\n scratch_load_b32 v20, v10, off offset:3\n"
      "scratch_load_u8 v21, v10, off offset:5\n scratch_load_i16 v22, v10, off offset:1\n"
      "scratch_store_b8 v10, v14, off offset:2\n scratch_load_b32 v23, v10, off");
  program.launch().scratch_bytes_per_lane = 64;
  for (uint32_t l = 0; l < 32; ++l) {
    program.lanes[l] = {l % 4, 0, {0x83828180, 0x87868584, 0x11, 0}};
  }
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l],
              (std::array<uint32_t, 4>{0x86858483, 0x85, 0xffff8281, 0x83118180}))
        << l;
  }
}

TEST(ScratchAccess, EndsAtTheLimit) {
  for (uint32_t offset : {61u, 64u, 0x10000u, 0xfffffffcu}) {
    MemoryProgram program("scratch_load_b32 v20, v10, off");
    program.launch().scratch_bytes_per_lane = 64;
    program.lanes[17].address = offset;
    auto done = program.run();
    ASSERT_FALSE(done) << offset;
    EXPECT_EQ(done.error().kind, emu::FaultKind::MemoryViolation);
    EXPECT_EQ(done.error().wave->lane, 17u);
    EXPECT_THAT(done.error().message, HasSubstr("scratch 64 bytes"));
  }
}

TEST(ScratchAccess, NeedsScratch) {
  MemoryProgram program("scratch_store_b32 off, v12, off");
  auto done = program.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, emu::FaultKind::MemoryViolation);
}

TEST(ScratchAccess, WavesDoNotSeeEachOther) {
  ProgramRun program("gfx1100", R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_and_b32 v0, 0x3ff, v0
    v_lshl_add_u32 v1, s2, 8, v0
    scratch_store_b32 off, v1, off offset:60
    s_barrier
    scratch_load_b32 v2, off, off offset:60
    v_lshlrev_b32 v3, 2, v1
    s_waitcnt vmcnt(0) lgkmcnt(0)
    global_store_b32 v3, v2, s[4:5]
    s_endpgm
)");
  std::vector<uint32_t> out(8 * 256);
  program.add(out);
  program.launch().grid = {8, 1, 1};
  program.launch().workgroup = {256, 1, 1};
  program.launch().scratch_bytes_per_lane = 64;
  auto done = program.run({.workers = 2});
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i);
}

}  // namespace
}  // namespace doppel::oracle
