#include "emulator/dispatch/dispatcher.h"

#include <array>
#include <atomic>
#include <numeric>

#include <gmock/gmock.h>

#include "emulator/dispatch/worker_pool.h"
#include "tests/emulator/isa/machine.h"

namespace doppel::emu {
namespace {

using testing::HasSubstr;

// clang's code for `if (i < count) out[i] = a[i] + b[i]` on gfx1100 (tests/kernels/vector_add.cl):
// kernarg {a, b, out, count, ..., u16 block size at 0x2c} in s[0:1], workgroup id in s15.
const std::vector<uint32_t> kVectorAdd = {
    0xbf850001, 0xf4000080, 0xf800002c, 0xf40000c0, 0xf8000018, 0xbf89fc07, 0x8b02ff02, 0x0000ffff,
    0xbf8700a9, 0xd6fe7c01, 0x0400040f, 0xbe82007e, 0xd4cc007e, 0x00020203, 0xbfa5001b, 0xf4080100,
    0xf8000000, 0x7e040280, 0xf4040000, 0xf8000010, 0xbf8700a9, 0xd73c0000, 0x00020282, 0xbf89fc07,
    0xd7006a02, 0x00020004, 0xbf870002, 0x40060205, 0xd7006a04, 0x00020006, 0x400a0207, 0xd7006a00,
    0x00020000, 0xdc520000, 0x027c0002, 0xdc520000, 0x037c0004, 0x40020201, 0xbf8903f7, 0x06040702,
    0xdc6a0000, 0x007c0200, 0xbf800000, 0xbfb60003, 0xbfb00000};

class VectorAdd : public testing::Test {
 protected:
  static constexpr uint32_t kBlock = 64;
  static constexpr size_t kA = 0x1000, kB = 0x3000, kOut = 0x5000;

  void prepare(uint32_t count, DispatcherOptions options = {}) {
    machine = std::make_unique<Machine>(0x10000, options);
    machine->load(kVectorAdd);
    const uint64_t pointers[] = {Machine::kData + kA, Machine::kData + kB, Machine::kData + kOut};
    std::memcpy(machine->data<std::byte>(), pointers, sizeof pointers);
    *machine->data<uint32_t>(0x18) = count;
    *machine->data<uint16_t>(0x2c) = kBlock;
    for (uint32_t i = 0; i < count; ++i) {
      machine->data<float>(kA)[i] = static_cast<float>(i);
      machine->data<float>(kB)[i] = 0.5f * static_cast<float>(i);
    }
    Dispatch& dispatch = machine->dispatch;
    dispatch.workgroup = {kBlock, 1, 1};
    dispatch.grid = {(count + kBlock - 1) / kBlock, 1, 1};
    dispatch.rsrc2 = 15 << 1 | 1 << 7;
    dispatch.user_data[0] = static_cast<uint32_t>(Machine::kData);
  }
  void expect_sums(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(machine->data<float>(kOut)[i], 1.5f * static_cast<float>(i)) << i;
    }
    EXPECT_EQ(machine->data<float>(kOut)[count], 0.0f);
  }

  std::unique_ptr<Machine> machine;
};

TEST_F(VectorAdd, AddsEveryElementAndNoMore) {
  prepare(1000);
  ASSERT_EQ(machine->run(), DispatchState::Done) << machine->dispatcher().fault().to_string();
  expect_sums(1000);
  const DispatchCounters counters = machine->dispatcher().counters();
  EXPECT_EQ(counters.workgroups, 16u);
  EXPECT_EQ(counters.waves, 32u);
}

TEST_F(VectorAdd, RunsOnSeveralWorkers) {
  prepare(1000, {.workers = 3});
  ASSERT_EQ(machine->run(), DispatchState::Done);
  expect_sums(1000);
}

TEST_F(VectorAdd, UnmappedBufferFaultsWithPlaceAndAddress) {
  prepare(1000);
  *machine->data<uint64_t>(8) = 0xdead0000;
  ASSERT_EQ(machine->run(), DispatchState::Faulted);
  const Fault& fault = machine->dispatcher().fault();
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(fault.address, 0xdead0000);
  EXPECT_FALSE(fault.is_write);
  ASSERT_TRUE(fault.wave.has_value());
  EXPECT_EQ(fault.wave->pc, Machine::kCode + 35 * 4);
  EXPECT_EQ(fault.wave->lane, 0u);
  EXPECT_THAT(fault.wave->disassembly, HasSubstr("global_load_b32"));
}

// Workgroup n runs 64 * (40 - n) instructions and then traps, if n >= 8: the higher ones first.
TEST(Faults, TheLowestWorkgroupsIsReportedWithAnyNumberOfWorkers) {
  for (const uint32_t workers : {1u, 2u, 4u}) {
    Machine machine(0x1000, {.workers = workers});
    machine.load({
        0x81840f80 | 0xa8,  // s_sub_i32 s4, 40, s15
        0x84848684,         // s_lshl_b32 s4, s4, 6
        0x80848104,         // s_sub_u32 s4, s4, 1
        0xbf078004,         // s_cmp_lg_u32 s4, 0
        0xbfa2fffd,         // s_cbranch_scc1 -3
        0xbf09880f,         // s_cmp_ge_u32 s15, 8
        0xbfa10001,         // s_cbranch_scc0 1
        0xbf900003,         // s_trap 3
        0xbfb00000,         // s_endpgm
    });
    machine.dispatch.rsrc2 = 15 << 1 | 1 << 7;
    machine.dispatch.grid = {32, 1, 1};
    ASSERT_EQ(machine.run(), DispatchState::Faulted);
    const Fault& fault = machine.dispatcher().fault();
    EXPECT_EQ(fault.kind, FaultKind::Trap) << fault.to_string();
    ASSERT_TRUE(fault.wave.has_value());
    EXPECT_EQ(fault.wave->workgroup[0], 8u) << workers << " workers";
  }
}

TEST(WorkerPool, DoesEveryTaskOfEveryRound) {
  WorkerPool pool;
  std::array<std::atomic<uint32_t>, 4> done{};
  for (uint32_t round = 0; round < 200; ++round) {
    pool.run(1 + round % 4, [&](uint32_t index) { ++done[index]; });
  }
  EXPECT_EQ(done[0], 200u);
  EXPECT_EQ(done[1], 150u);
  EXPECT_EQ(done[2], 100u);
  EXPECT_EQ(done[3], 50u);
}

}  // namespace
}  // namespace doppel::emu
