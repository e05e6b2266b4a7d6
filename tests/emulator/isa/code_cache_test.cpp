// Code that changes: between dispatches it is read anew; within one, S_ICACHE_INV makes a wave and
// those it meets at a barrier see what was stored.
#include "emulator/isa/code_cache.h"

#include <array>

#include <gmock/gmock.h>

#include "tests/emulator/isa/machine.h"

namespace doppel::emu {
namespace {

constexpr uint32_t kMovV1 = 0x7e020280;  // v_mov_b32 v1, 0; + n: inline constant n

class RewrittenCode : public testing::Test {
 protected:
  RewrittenCode() { machine.dispatch.user_data[0] = static_cast<uint32_t>(Machine::kData); }

  /// v1 = `value`, stored to data[lane].
  void load_store_of(uint32_t value) {
    machine.load({kMovV1 + value,
                  0x300a0082,  // v_lshlrev_b32 v5, 2, v0
                  0xdc6a0000,
                  0x00000105,  // global_store_b32 v5, v1, s[0:1]
                  kEndpgm});
  }
  Machine machine;
};

TEST_F(RewrittenCode, IsReadAnewByTheNextDispatch) {
  for (const uint32_t value : {7u, 9u, 7u}) {
    load_store_of(value);
    ASSERT_EQ(machine.run(), DispatchState::Done);
    EXPECT_EQ(machine.data<uint32_t>()[31], value);
  }
}

TEST_F(RewrittenCode, BehindAnIllegalWordIsReadAnewToo) {
  machine.load({kMovV1, 0xd7000001, 0xffffffff, kEndpgm});  // a VOP3 with operands that are none
  const DispatchState first = machine.run();
  load_store_of(5);
  ASSERT_EQ(machine.run(), DispatchState::Done) << static_cast<int>(first);
  EXPECT_EQ(machine.data<uint32_t>()[0], 5u);
}

TEST_F(RewrittenCode, MappedBehindTheEndIsReadAnew) {
  // A wave runs off the mapping; then there is code.
  constexpr uint64_t kEnd = Machine::kCode + Machine::kCodeBytes;
  machine.load(std::vector<uint32_t>(Machine::kCodeBytes / 4, kMovV1));
  machine.dispatch.program = kEnd - 256;
  ASSERT_EQ(machine.run(), DispatchState::Faulted);
  alignas(4096) static std::array<uint32_t, 1024> more;
  more.fill(kEndpgm);
  ASSERT_TRUE(machine.vm()
                  .map({.va = kEnd,
                        .size = sizeof more,
                        .host = reinterpret_cast<std::byte*>(more.data()),
                        .permissions = static_cast<uint8_t>(static_cast<uint8_t>(Access::Execute) |
                                                            static_cast<uint8_t>(Access::Read))})
                  .has_value());
  EXPECT_EQ(machine.run(), DispatchState::Done);
}

// Wave 0 rewrites the instruction behind the barrier, and both waves execute it.
class CodeThatRewritesItself : public testing::Test {
 protected:
  static constexpr uint64_t kWritableCode = 0x40000;

  /// v1 of the second wave's last lane, with `invalidate` between the store and the barrier.
  uint32_t run_with(uint32_t invalidate) {
    code = {
        0x300a0082,              // v_lshlrev_b32 v5, 2, v0
        0x7e0c0500,              // v_readfirstlane_b32 s6, v0
        0xbf078006,              // s_cmp_lg_u32 s6, 0
        0xbfa20008,              // s_cbranch_scc1 8: wave 1 waits
        0xbe844700,              // s_getpc_b64 s[4:5]
        0x7e0402ff, 0x7e0202a1,  // v_mov_b32 v2, the word of "v_mov_b32 v1, 33"
        0x7e060280,              // v_mov_b32 v3, 0
        0xdc6a0020, 0x00040203,  // global_store_b32 v3, v2, s[4:5] offset:32
        0xbc7c0000,              // s_waitcnt_vscnt null, 0
        invalidate,
        0xbfbd0000,              // s_barrier
        0x7e020281,              // v_mov_b32 v1, 1: rewritten
        0xdc6a0000, 0x00000105,  // global_store_b32 v5, v1, s[0:1]
        kEndpgm,
    };
    Machine machine;
    EXPECT_TRUE(machine.vm()
                    .map({.va = kWritableCode,
                          .size = sizeof code,
                          .host = reinterpret_cast<std::byte*>(code.data()),
                          .permissions = 7})
                    .has_value());
    machine.dispatch.user_data[0] = static_cast<uint32_t>(Machine::kData);
    machine.dispatch.program = kWritableCode;
    machine.dispatch.workgroup = {64, 1, 1};
    EXPECT_EQ(machine.run(), DispatchState::Done);
    EXPECT_EQ(code[13], 0x7e0202a1u) << "the store reached the code";
    return machine.data<uint32_t>()[63];
  }

  alignas(4096) std::array<uint32_t, 1024> code{};
};

TEST_F(CodeThatRewritesItself, SeesItBehindSIcacheInv) {
  EXPECT_EQ(run_with(0xbfbc0000), 33u);
}

TEST_F(CodeThatRewritesItself, MayRunOnInTheOldWithoutIt) {
  EXPECT_EQ(run_with(0xbf800000), 1u);
}

}  // namespace
}  // namespace doppel::emu
