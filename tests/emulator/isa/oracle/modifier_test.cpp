// SDWA, DPP16 and DPP8 on gfx10.3, executed: bytes and words of sources and destinations, lanes
// that move within a row or eight lanes, and what happens to those that receive nothing. Expected
// values are written out from the RDNA2 ISA manual's tables.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulator/isa/oracle/program_run.h"

namespace doppel::oracle {
namespace {

constexpr uint32_t kOld = 0xcafebabe;

struct Lanes {
  std::array<uint32_t, kLanes> a{}, b{};
};

Lanes inputs() {
  Lanes lanes;
  for (uint32_t l = 0; l < kLanes; ++l) {
    lanes.a[l] = 0x81f27304 + l * 0x01030507;
    lanes.b[l] = 0x0f80c1e2 + l * 0x05030107;
  }
  return lanes;
}

/// Runs `instruction` on v2 = a, v3 = b, v4 = kOld (the destination); returns v4.
std::vector<uint32_t> run(const std::string& instruction) {
  const Lanes lanes = inputs();
  std::vector<uint32_t> a(lanes.a.begin(), lanes.a.end()), b(lanes.b.begin(), lanes.b.end());
  std::vector<uint32_t> out(kLanes);
  ProgramRun program("gfx1030", R"(
    s_load_dwordx4 s[4:7], s[0:1], null
    s_load_dwordx2 s[8:9], s[0:1], 16
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v4, 0xcafebabe
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    global_load_dword v3, v1, s[6:7]
    s_waitcnt vmcnt(0)
    )" + instruction + R"(
    global_store_dword v1, v4, s[8:9]
    s_endpgm
  )");
  program.add(a);
  program.add(b);
  program.add(out);
  const auto done = program.run();
  EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().to_string());
  return out;
}

void expect(const std::string& instruction,
            const std::function<uint32_t(const Lanes&, uint32_t)>& expected) {
  const Lanes lanes = inputs();
  const std::vector<uint32_t> out = run(instruction);
  for (uint32_t l = 0; l < kLanes; ++l) {
    EXPECT_EQ(out[l], expected(lanes, l)) << instruction << ", lane " << l;
  }
}

uint32_t byte(uint32_t value, uint32_t index) {
  return value >> index * 8 & 0xff;
}
uint32_t word(uint32_t value, uint32_t index) {
  return value >> index * 16 & 0xffff;
}

TEST(Sdwa, SourcesAreBytesOrWordsWithOrWithoutTheirSign) {
  expect(
      "v_add_nc_u32_sdwa v4, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 "
      "src1_sel:WORD_0",
      [](const Lanes& in, uint32_t l) { return byte(in.a[l], 3) + word(in.b[l], 0); });
  expect(
      "v_add_nc_u32_sdwa v4, sext(v2), v3 dst_sel:DWORD dst_unused:UNUSED_PAD "
      "src0_sel:BYTE_3 src1_sel:DWORD",
      [](const Lanes& in, uint32_t l) {
        return static_cast<uint32_t>(static_cast<int8_t>(byte(in.a[l], 3))) + in.b[l];
      });
  expect(
      "v_xor_b32_sdwa v4, v2, sext(v3) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
      "src1_sel:WORD_0",
      [](const Lanes& in, uint32_t l) {
        return word(in.a[l], 1) ^ static_cast<uint32_t>(static_cast<int16_t>(word(in.b[l], 0)));
      });
}

TEST(Sdwa, DestinationIsPaddedExtendedOrPreserved) {
  const std::string sources = " src0_sel:DWORD src1_sel:DWORD";
  expect("v_add_nc_u32_sdwa v4, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PAD" + sources,
         [](const Lanes& in, uint32_t l) { return byte(in.a[l] + in.b[l], 0) << 8; });
  expect(
      "v_add_nc_u32_sdwa v4, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE" + sources,
      [](const Lanes& in, uint32_t l) { return word(in.a[l] + in.b[l], 0) << 16 | word(kOld, 0); });
  expect("v_add_nc_u32_sdwa v4, v2, v3 dst_sel:BYTE_2 dst_unused:UNUSED_SEXT" + sources,
         [](const Lanes& in, uint32_t l) {
           const uint32_t low = byte(in.a[l] + in.b[l], 0);
           return low << 16 | ((low & 0x80) != 0 ? 0xff000000u : 0u);
         });
}

TEST(Sdwa, FloatsTakeSignModifiersBehindTheirSelection) {
  // f16 1.5 in the high word, negated: -1.5 + -1.5.
  const std::vector<uint32_t> out = run(R"(
    v_mov_b32 v2, 0x3e000000
    v_add_f16_sdwa v4, -v2, -|v2| dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 )"
                                        "src1_sel:WORD_1");
  for (uint32_t l = 0; l < kLanes; ++l) EXPECT_EQ(out[l], 0xcafec200u);
}

TEST(Sdwa, ComparisonsWriteTheSgprsTheyName) {
  const Lanes in = inputs();
  uint32_t mask = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    mask |= static_cast<uint32_t>(byte(in.a[l], 0) > byte(in.b[l], 1)) << l;
  }
  const std::vector<uint32_t> out = run(R"(
    v_cmp_gt_u32_sdwa s10, v2, v3 src0_sel:BYTE_0 src1_sel:BYTE_1
    v_mov_b32 v4, s10)");
  for (uint32_t l = 0; l < kLanes; ++l) EXPECT_EQ(out[l], mask);
}

TEST(Dpp16, MovesLanesWithinRows) {
  const auto moves = [](const std::string& control, auto source_of) {
    expect("v_mov_b32_dpp v4, v2 " + control + " row_mask:0xf bank_mask:0xf",
           [&](const Lanes& in, uint32_t l) {
             const int from = source_of(static_cast<int>(l % 16));
             // Lanes without a source keep their destination.
             return from < 0 || from > 15 ? kOld : in.a[l / 16 * 16 + from];
           });
  };
  moves("quad_perm:[3,0,2,1]", [](int l) { return l / 4 * 4 + std::array{3, 0, 2, 1}[l % 4]; });
  moves("row_shl:3", [](int l) { return l + 3; });
  moves("row_shr:5", [](int l) { return l - 5; });
  moves("row_ror:7", [](int l) { return (l + 16 - 7) % 16; });
  moves("row_mirror", [](int l) { return 15 - l; });
  moves("row_half_mirror", [](int l) { return l / 8 * 8 + 7 - l % 8; });
  moves("row_share:9", [](int) { return 9; });
  moves("row_xmask:6", [](int l) { return l ^ 6; });
}

TEST(Dpp16, BoundControlGivesZeroAndMasksKeepTheDestination) {
  expect("v_mov_b32_dpp v4, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
         [](const Lanes& in, uint32_t l) { return l % 16 == 0 ? 0 : in.a[l - 1]; });
  expect("v_add_nc_u32_dpp v4, v2, v3 row_share:0 row_mask:0x1 bank_mask:0x5",
         [](const Lanes& in, uint32_t l) {
           const bool enabled = l < 16 && (l / 4 == 0 || l / 4 == 2);
           return enabled ? in.a[0] + in.b[l] : kOld;
         });
}

TEST(Dpp16, LanesThatAreOffGiveNothingUnlessFetched) {
  const auto program = [](const std::string& fetch) {
    return "s_mov_b32 exec_lo, 0xfffffffe\n v_mov_b32_dpp v4, v2 row_share:0 row_mask:0xf "
           "bank_mask:0xf" +
           fetch + "\n s_mov_b32 exec_lo, -1";
  };
  expect(program(""), [](const Lanes& in, uint32_t l) { return l < 16 ? kOld : in.a[16]; });
  expect(program(" fi:1"),
         [](const Lanes& in, uint32_t l) { return l == 0 ? kOld : in.a[l / 16 * 16]; });
}

TEST(Dpp8, MovesLanesWithinEight) {
  constexpr std::array kSelect = {7, 6, 0, 1, 3, 3, 5, 2};
  expect("v_add_nc_u32_dpp v4, v2, v3 dpp8:[7,6,0,1,3,3,5,2]",
         [&](const Lanes& in, uint32_t l) { return in.a[l / 8 * 8 + kSelect[l % 8]] + in.b[l]; });
}

}  // namespace
}  // namespace doppel::oracle
