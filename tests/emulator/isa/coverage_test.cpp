// Which rows a run executed, as reported by --isa-coverage.
#include "emulator/isa/coverage.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/emulator/isa/machine.h"

namespace doppel::emu {
namespace {

using testing::HasSubstr;

uint64_t executed(const isa::Coverage& coverage, isa::Format format, std::string_view name) {
  for (const isa::Row& row : isa::rows_of(format)) {
    if (row.name == name) return coverage.executed(GfxFamily::Gfx11, row);
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(Coverage, CountsWhatEachWaveExecutes) {
  isa::Coverage coverage;
  Machine machine(0x1000, {.workers = 2, .coverage = &coverage});
  machine.load({
      0x300a0082,  // v_lshlrev_b32 v5, 2, v0
      0xca100101,
      0x00000100,  // v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0
      0xbfa00000,  // s_branch 0
      kEndpgm,
  });
  machine.dispatch.grid = {3, 1, 1};
  machine.dispatch.workgroup = {64, 1, 1};
  ASSERT_EQ(machine.run(), DispatchState::Done);
  EXPECT_EQ(executed(coverage, isa::Format::VOP2, "v_lshlrev_b32"), 6u);
  EXPECT_EQ(executed(coverage, isa::Format::VOPD, "v_dual_mov_b32"), 12u) << "both operations";
  EXPECT_EQ(executed(coverage, isa::Format::VOP1, "v_mov_b32"), 0u);
  EXPECT_EQ(executed(coverage, isa::Format::SOPP, "s_branch"), 6u);
  EXPECT_EQ(executed(coverage, isa::Format::SOPP, "s_endpgm"), 6u);

  const auto report = nlohmann::json::parse(coverage.to_json());
  EXPECT_EQ(report.size(), 1u) << "gfx11 alone";
  EXPECT_EQ(report["gfx11"]["executed"]["SOPP s_endpgm"], 6);
  EXPECT_EQ(report["gfx11"]["executed"].size() + report["gfx11"]["not_executed"].size(),
            report["gfx11"]["rows"]);
  EXPECT_THAT(coverage.to_text(), HasSubstr("gfx11: 4 of "));
}

TEST(Coverage, WhatFaultsDoesNotCount) {
  isa::Coverage coverage;
  Machine machine(0x1000, {.coverage = &coverage});
  machine.load({0x7e0202a8, 0xbf900003});  // v_mov_b32 v1, 40; s_trap 3
  ASSERT_EQ(machine.run(), DispatchState::Faulted);
  EXPECT_EQ(executed(coverage, isa::Format::VOP1, "v_mov_b32"), 1u);
  EXPECT_EQ(executed(coverage, isa::Format::SOPP, "s_trap"), 0u);
}

TEST(Coverage, NothingExecutedIsSaid) {
  EXPECT_EQ(isa::Coverage().to_text(), "no instruction was executed\n");
}

}  // namespace
}  // namespace doppel::emu
