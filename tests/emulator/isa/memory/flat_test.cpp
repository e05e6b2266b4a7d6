// FLAT: global memory, LDS and scratch through one address.
#include <gtest/gtest.h>

#include "tests/emulator/isa/memory/memory_program.h"

namespace doppel::oracle {
namespace {

TEST(Flat, ReachesGlobalMemory) {
  MemoryProgram program("flat_load_b64 v[20:21], v[10:11]\n flat_store_b32 v[10:11], v12 offset:8");
  program.fill_target(1024);
  const auto before = program.target;
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {kTarget + 16 * l, 0, {l, 0, 0, 0}};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  uint32_t word = 0;
  std::memcpy(&word, before.data() + 16 * 5 + 4, 4);
  EXPECT_EQ(program.results[5][1], word);
  EXPECT_EQ(program.target_at<uint32_t>(16 * 5 + 8), 5u);
}

// Lanes 0, 3, 6... point to global memory, 1, 4... into LDS, 2, 5... into scratch.
TEST(Flat, ChoosesTheSpaceByAperture) {
  MemoryProgram program(R"(
    s_mov_b64 s[14:15], src_shared_base
    s_mov_b64 s[16:17], src_private_base
    v_cmp_eq_u32 vcc_lo, 1, v14
    v_cndmask_b32 v11, v11, s15, vcc_lo
    v_cmp_eq_u32 vcc_lo, 2, v14
    v_cndmask_b32 v11, v11, s17, vcc_lo
    flat_store_b64 v[10:11], v[12:13]
    flat_load_b32 v20, v[10:11] offset:4
    flat_atomic_add_u32 v21, v[10:11], v15 glc
)");
  program.launch().scratch_bytes_per_lane = 1024;
  program.fill_target(1024);
  for (uint32_t l = 0; l < 32; ++l) {
    const uint64_t address = l % 3 == 0 ? kTarget + 8 * l : uint64_t{8} * l;
    program.lanes[l] = {address, 0, {100 + l, 200 + l, l % 3, 1}};
  }
  program.exec = 0xffffffff;
  auto done = program.run();
  ASSERT_FALSE(done) << "scratch has no atomics";
  EXPECT_EQ(done.error().kind, emu::FaultKind::MemoryViolation);
  EXPECT_EQ(done.error().wave->lane, 2u);
}

TEST(Flat, LoadsAndStoresThroughEveryAperture) {
  MemoryProgram program(R"(
    s_mov_b64 s[14:15], src_shared_base
    s_mov_b64 s[16:17], src_private_base
    v_cmp_eq_u32 vcc_lo, 1, v14
    v_cndmask_b32 v11, v11, s15, vcc_lo
    v_cmp_eq_u32 vcc_lo, 2, v14
    v_cndmask_b32 v11, v11, s17, vcc_lo
    flat_store_b64 v[10:11], v[12:13]
    flat_load_b32 v20, v[10:11] offset:4
    ds_load_b32 v21, v10
    scratch_load_b32 v22, v10, off
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_cmp_ne_u32 vcc_lo, 2, v14
    s_mov_b32 exec_lo, vcc_lo
    flat_atomic_add_u32 v23, v[10:11], v15 glc
)");
  program.launch().scratch_bytes_per_lane = 1024;
  program.fill_target(1024);
  for (uint32_t l = 0; l < 32; ++l) {
    const uint64_t address = l % 3 == 0 ? kTarget + 8 * l : uint64_t{8} * l;
    program.lanes[l] = {address, 0, {100 + l, 200 + l, l % 3, 1}};
  }
  // Global lanes have offsets that are addresses of scratch and LDS too, but out of range there:
  // the scratch load of those lanes must not run.
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l].address &= ~uint64_t{0};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l][0], 200 + l) << l;
    EXPECT_EQ(program.results[l][1], l % 3 == 1 ? 100 + l : 0) << l;
    if (l % 3 == 2) {
      EXPECT_EQ(program.results[l][2], 100 + l) << l;
    }
    EXPECT_EQ(program.results[l][3], l % 3 == 2 ? kPreset : 100 + l) << l;
    if (l % 3 == 0) {
      EXPECT_EQ(program.target_at<uint32_t>(8 * l), 101 + l) << l;
    }
  }
}

}  // namespace
}  // namespace doppel::oracle
