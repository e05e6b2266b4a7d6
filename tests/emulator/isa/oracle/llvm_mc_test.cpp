#include "tests/emulator/isa/oracle/llvm_mc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace doppel::oracle {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

TEST(LlvmMc, AssemblesLineByLine) {
  const auto results = LlvmMc("gfx1100").assemble(
      {"v_mov_b32 v0, v1", "nonsense", "v_mov_b32 v0, 0x12345", "v_add_f32 v0, 1.5, v500"});
  EXPECT_THAT(results, ElementsAre(Optional(Words{0x7e000301}), Eq(std::nullopt),
                                   Optional(Words{0x7e0002ff, 0x12345}), Eq(std::nullopt)));
}

TEST(LlvmMc, TakesOnlyTheFirstInstructionOfACandidate) {
  const Words two = {0x7e040200, 0xbe8000ff, 0x1234};
  const Words none = {0xffffffff, 0x7e040200};
  const Words valid_then_not = {0x7e040200, 0xffffffff};
  const Words cut = {0xbe8000ff};
  const std::vector<Words> candidates = {two, none, valid_then_not, cut, {0xbe8000ff, 7}};
  const auto results = LlvmMc("gfx1100").disassemble(candidates);
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results[0]->text, "v_mov_b32_e32 v2, s0");
  EXPECT_EQ(results[0]->canonical, Words{0x7e040200});
  EXPECT_FALSE(results[1]);
  EXPECT_EQ(results[2]->text, "v_mov_b32_e32 v2, s0");
  EXPECT_FALSE(results[3]);
  EXPECT_EQ(results[4]->text, "s_mov_b32 s0, 7");
  EXPECT_EQ(results[4]->canonical, Words{0xbe800087});
}

TEST(LlvmMc, KnowsTargetsAndWaveSizes) {
  const std::vector<std::string> line = {"s_add_f32 s0, s1, s2"};
  EXPECT_FALSE(LlvmMc("gfx1100").assemble(line)[0]);
  EXPECT_TRUE(LlvmMc("gfx1150").assemble(line)[0]);
  const std::vector<std::string> compare = {"v_cmp_eq_u32_e64 s[0:1], v0, v1"};
  EXPECT_FALSE(LlvmMc("gfx1100", 32).assemble(compare)[0]);
  EXPECT_TRUE(LlvmMc("gfx1100", 64).assemble(compare)[0]);
}

TEST(LlvmMc, AssemblesPrograms) {
  const LlvmMc mc("gfx1100");
  EXPECT_THAT(mc.assemble_program("s_branch end\ns_nop 0\nend:\ns_endpgm\n"),
              ElementsAre(0xbfa00001, 0xbf800000, 0xbfb00000));
  EXPECT_THROW(mc.assemble_program("nonsense\n"), std::runtime_error);
}

}  // namespace
}  // namespace doppel::oracle
