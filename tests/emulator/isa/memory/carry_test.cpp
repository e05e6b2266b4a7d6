// The carry of an instruction that exists only in the VOP3 encoding goes where SDST says, not to
// VCC: blit kernels of real runtimes rely on it.
#include <gtest/gtest.h>

#include "tests/emulator/isa/memory/memory_program.h"

namespace doppel::oracle {
namespace {

class Carry : public ::testing::TestWithParam<const char*> {};

TEST_P(Carry, GoesToItsOwnDestination) {
  MemoryProgram program(R"(
    s_mov_b32 vcc_lo, 0x5555
    s_movk_i32 s20, 0x100
    v_add_co_u32 v20, s20, -1, v12
    v_mov_b32 v21, s20
    v_mov_b32 v22, vcc_lo
)",
                        GetParam());
  for (uint32_t lane = 0; lane < 32; ++lane) program.lanes[lane].data[0] = lane % 2;
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[1][0], 0u);
  EXPECT_EQ(program.results[0][0], 0xffffffffu);
  EXPECT_EQ(program.results[0][1], 0xaaaaaaaau) << "a carry from each odd lane";
  EXPECT_EQ(program.results[0][2], 0x5555u) << "VCC is untouched";
}

// LLVM leaves the VDST of V_CMPX 0 on gfx10.3: s0, which holds something else.
TEST(Compare, IntoExecLeavesS0Alone) {
  MemoryProgram program(R"(
    s_movk_i32 s0, 0x77
    v_cmpx_gt_i32_e64 5, v12
    s_mov_b32 s20, exec_lo
    s_mov_b32 exec_lo, -1
    v_mov_b32 v20, s0
    v_mov_b32 v21, s20
)",
                        "gfx1030");
  for (uint32_t lane = 0; lane < 32; ++lane) program.lanes[lane].data[0] = lane;
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[0][0], 0x77u);
  EXPECT_EQ(program.results[0][1], 0x1fu);
}

INSTANTIATE_TEST_SUITE_P(Targets, Carry, ::testing::Values("gfx1030", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace doppel::oracle
