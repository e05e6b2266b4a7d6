// Whole instructions on waves: halves of a wave64, pairs that read each other, lanes that read each
// other, and what a wave is not allowed. The words are llvm-mc's, the text beside them its input.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "emulator/isa/support_matrix.h"
#include "tests/emulator/isa/machine.h"
#include "tests/paths.h"

namespace doppel::emu {
namespace {

using testing::HasSubstr;

class Execution : public testing::Test {
 protected:
  Execution() { machine.dispatch.user_data[0] = static_cast<uint32_t>(Machine::kData); }
  const Fault& fault() { return machine.dispatcher().fault(); }

  Machine machine{0x10000, {.instruction_budget = 100'000}};
};

TEST_F(Execution, Wave64ComparesIntoASgprPair) {
  machine.load({
      0xd71f0004,
      0x000100c1,  // v_mbcnt_lo_u32_b32 v4, -1, 0
      0xd7200004,
      0x000208c1,  // v_mbcnt_hi_u32_b32 v4, -1, v4
      0x7e0202a8,  // v_mov_b32 v1, 40
      0xd4490004,
      0x00020304,  // v_cmp_lt_u32_e64 s[4:5], v4, v1
      0x7e040204,  // v_mov_b32 v2, s4
      0x7e060205,  // v_mov_b32 v3, s5
      0x300a0882,  // v_lshlrev_b32 v5, 2, v4
      0xdc6a0000,
      0x00000205,  // global_store_b32 v5, v2, s[0:1]
      0xdc6a0400,
      0x00000305,  // global_store_b32 v5, v3, s[0:1] offset:1024
      kEndpgm,
  });
  machine.dispatch.wave32 = false;
  machine.dispatch.workgroup = {64, 1, 1};
  ASSERT_EQ(machine.run(), DispatchState::Done) << fault().to_string();
  EXPECT_EQ(machine.data<uint32_t>()[0], 0xffffffff);
  EXPECT_EQ(machine.data<uint32_t>()[63], 0xffffffff);
  EXPECT_EQ(machine.data<uint32_t>(1024)[0], 0xffu);
  EXPECT_EQ(machine.data<uint32_t>(1024)[63], 0xffu);
}

TEST_F(Execution, PairedMovesExchangeRegisters) {
  machine.load({
      0x300a0082,  // v_lshlrev_b32 v5, 2, v0
      0x7e0202a8,  // v_mov_b32 v1, 40
      0xca100101,
      0x00000100,  // v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0
      0xdc6a0000,
      0x00000005,  // global_store_b32 v5, v0, s[0:1]
      0xdc6a0400,
      0x00000105,  // global_store_b32 v5, v1, s[0:1] offset:1024
      kEndpgm,
  });
  ASSERT_EQ(machine.run(), DispatchState::Done) << fault().to_string();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(machine.data<uint32_t>()[lane], 40u);
    EXPECT_EQ(machine.data<uint32_t>(1024)[lane], lane);
  }
}

TEST_F(Execution, DppSharesALaneWithItsRow) {
  machine.load({
      0x300a0082,  // v_lshlrev_b32 v5, 2, v0
      0x7e0402fa,
      0xff015300,  // v_mov_b32_dpp v2, v0 row_share:3 row_mask:0xf bank_mask:0xf
      0xdc6a0000,
      0x00000205,  // global_store_b32 v5, v2, s[0:1]
      kEndpgm,
  });
  ASSERT_EQ(machine.run(), DispatchState::Done) << fault().to_string();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(machine.data<uint32_t>()[lane], lane / 16 * 16 + 3);
  }
}

TEST_F(Execution, RegisterBeyondTheAllocationFaultsWhereItIsUsed) {
  machine.load({0x7e0202a8, 0x7e120308, kEndpgm});  // v_mov_b32 v1, 40; v_mov_b32 v9, v8
  machine.dispatch.rsrc1 &= ~0x3fu;                 // 8 VGPRs
  ASSERT_EQ(machine.run(), DispatchState::Faulted);
  EXPECT_EQ(fault().kind, FaultKind::IllegalInstruction);
  EXPECT_THAT(fault().message, HasSubstr("v9"));
  ASSERT_TRUE(fault().wave.has_value());
  EXPECT_EQ(fault().wave->pc, Machine::kCode + 4);
  EXPECT_EQ(fault().wave->disassembly, "v_mov_b32_e32 v9, v8");
}

TEST_F(Execution, WordThatIsNoInstructionFaultsWhenReached) {
  machine.load({0x7e0202a8, 0xffffffff});
  ASSERT_EQ(machine.run(), DispatchState::Faulted);
  EXPECT_EQ(fault().kind, FaultKind::IllegalInstruction);
  EXPECT_THAT(fault().message, HasSubstr("0xffffffff"));
}

/// What decodes and is not carried out, and what graphics pipelines alone have.
TEST_F(Execution, WhatIsNotModelledFaultsAndSaysSo) {
  const struct {
    std::array<uint32_t, 2> words;
    const char* text;
  } kCases[] = {
      {{0xd8360000, 0x00000100}, "(GDS)"},   // ds_store_b32 v0, v1 gds
      {{0xe0500000, 0x80a00100}, "(TFE)"},   // buffer_load_b32 v[1:2], v0, s[0:3], 0 idxen tfe
      {{0xf0000f04, 0x00000000}, "(MIMG)"},  // image_load v[0:3], v[0:1], s[0:7] dmask:0xf dim:2D
      {{0xf80000cf, 0x00000000}, "(EXP)"},   // exp pos0 v0, v0, v0, v0
      {{0xce100001, kEndpgm}, "(LDSDIR)"},   // lds_direct_load v1
  };
  for (const auto& each : kCases) {
    Machine fresh{0x10000, {.instruction_budget = 100'000}};
    fresh.load({each.words[0], each.words[1], kEndpgm});
    ASSERT_EQ(fresh.run(), DispatchState::Faulted) << each.text;
    const Fault& what = fresh.dispatcher().fault();
    EXPECT_EQ(what.kind, FaultKind::UnsupportedInstruction) << what.to_string();
    EXPECT_THAT(what.message, HasSubstr(each.text));
  }
}

TEST_F(Execution, EndlessLoopRunsIntoTheBudget) {
  machine.load({0xbfa0ffff});  // s_branch -1
  ASSERT_EQ(machine.run(), DispatchState::Faulted);
  EXPECT_EQ(fault().kind, FaultKind::InstructionBudget);
  ASSERT_TRUE(fault().wave.has_value());
  EXPECT_EQ(fault().wave->pc, Machine::kCode);
}

TEST_F(Execution, CodeThatRunsOffItsMappingFaults) {
  machine.dispatch.program = Machine::kCode + Machine::kCodeBytes - 256;
  machine.load(std::vector<uint32_t>(Machine::kCodeBytes / 4, 0x7e0202a8));
  ASSERT_EQ(machine.run(), DispatchState::Faulted);
  EXPECT_EQ(fault().kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(fault().address, Machine::kCode + Machine::kCodeBytes);
}

TEST(SupportMatrix, DocumentIsCurrent) {
  std::ifstream file(doppel::test::source_dir() / "docs/isa-support.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string current = isa::support_matrix();
  if (text.str() == current) return;
  const auto copy = doppel::test::binary_dir() / "isa-support.md";
  std::ofstream(copy) << current;
  ADD_FAILURE() << "Copy " << copy << " to docs/.";
}

}  // namespace
}  // namespace doppel::emu
