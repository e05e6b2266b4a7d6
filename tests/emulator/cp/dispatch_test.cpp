// Dispatches as PM4 and AQL queues launch them: order, overlap, completion, faults, scratch.
#include <array>
#include <bit>
#include <vector>

#include <gmock/gmock.h>

#include "core/abi/amd_queue.h"
#include "core/abi/amd_signal.h"
#include "core/abi/hsa_aql.h"
#include "tests/emulator/kernels.h"

namespace doppel::emu::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

auto release(uint64_t va, uint32_t value) {
  return pm4::ReleaseMem(kFamily)
      .event_type(pm4::EventType::CACHE_FLUSH_AND_INV_TS_EVENT)
      .event_index(pm4::ReleaseIndex::END_OF_PIPE)
      .data_sel(pm4::DataSel::SEND_32_BIT_LOW)
      .address(va)
      .data(value);
}

auto partial_flush() {
  return pm4::EventWrite(kFamily)
      .event_type(pm4::EventType::CS_PARTIAL_FLUSH)
      .event_index(pm4::EventIndex::CS_PARTIAL_FLUSH);
}

auto write_word(uint64_t va, const uint32_t& value) {
  return pm4::WriteData(kFamily)
      .dst_sel(pm4::WriteDst::TC_L2)
      .address(va)
      .payload(std::span(&value, 1));
}

class DispatchTest : public ::testing::Test {
 protected:
  void run() {
    machine_.run();
    ASSERT_THAT(machine_.sink.faults, IsEmpty()) << machine_.sink.faults[0].to_string();
  }
  /// Steps a kernel that spins: long enough for everything else to have happened.
  void run_a_while() {
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(machine_.simulator.step());
    ASSERT_THAT(machine_.sink.faults, IsEmpty()) << machine_.sink.faults[0].to_string();
  }
  uint32_t word(uint64_t offset) { return machine_.peek<uint32_t>(data_ + offset); }

  Machine machine_;
  Client& queue_ = machine_.queue(QueueKind::Pm4);
  uint64_t data_ = machine_.allocate(4096);
};

TEST_F(DispatchTest, Pm4LaunchesEveryWorkItem) {
  const Program count = place_program(machine_, kCountKernel);
  queue_.submit(pm4_dispatch(count, data_, 7, 50));  // 50 is no whole number of waves
  run();
  EXPECT_EQ(word(0), 350u);
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(DispatchTest, DimensionsAreWhereTheGridEnds) {
  const Program store = place_program(machine_, kStoreIdKernel);
  Stream stream = pm4_dispatch(store, data_, 6, 1);
  const uint32_t start[] = {5, 0, 0};
  stream.dwords().resize(stream.size() - 5);
  stream << pm4::SetShReg(kFamily)
                .reg_offset(regs::sh_offset(regs::COMPUTE_START_X, kFamily))
                .payload(start)
         << pm4::DispatchDirect(kFamily).dim_x(6).dim_y(1).dim_z(1).initiator(0x8001);
  queue_.submit(stream);
  run();
  EXPECT_EQ(word(0), 5u);
}

TEST_F(DispatchTest, ThreadDimensionsLeaveAPartialWorkgroup) {
  const Program count = place_program(machine_, kCountKernel);
  Stream stream = pm4_dispatch(count, data_, 1, 32);
  stream.dwords().resize(stream.size() - 5);
  stream << pm4::DispatchDirect(kFamily).dim_x(77).dim_y(1).dim_z(1).initiator(0x8025);
  queue_.submit(stream);
  run();
  EXPECT_EQ(word(0), 77u);
}

TEST_F(DispatchTest, IndirectDimensionsAreReadWhenThePacketIsReached) {
  const Program count = place_program(machine_, kCountKernel);
  const uint32_t dims[] = {3, 2, 1};
  Stream stream;
  stream << pm4::WriteData(kFamily).dst_sel(pm4::WriteDst::TC_L2).address(data_ + 64).payload(dims);
  Stream dispatch = pm4_dispatch(count, data_, 1, 32);
  dispatch.dwords().resize(dispatch.size() - 5);
  stream.dwords().insert(stream.dwords().end(), dispatch.dwords().begin(), dispatch.dwords().end());
  stream << pm4::DispatchIndirect(kFamily).address(data_ + 64).initiator(0x8005);
  queue_.submit(stream);
  run();
  EXPECT_EQ(word(0), 6u * 32);
}

TEST_F(DispatchTest, EndOfPipeComesAfterTheDispatchAndTheFrontEndGoesOn) {
  const Program spin = place_program(machine_, kSpinKernel);
  machine_.poke<uint32_t>(data_, 1);  // the kernel waits for 0
  const uint32_t one = 1;
  queue_.submit(pm4_dispatch(spin, data_));
  queue_.submit(Stream() << release(data_ + 64, 5) << write_word(data_ + 68, one));
  run_a_while();
  EXPECT_EQ(word(64), 0u) << "the end of the pipe overtook the dispatch";
  EXPECT_EQ(word(68), 1u) << "the front-end waited";
  EXPECT_EQ(queue_.read_pointer(), queue_.put);
  EXPECT_FALSE(machine_.simulator.idle());
  machine_.poke<uint32_t>(data_, 0);
  run();
  EXPECT_EQ(word(64), 5u);
}

TEST_F(DispatchTest, PartialFlushHoldsTheFrontEnd) {
  const Program spin = place_program(machine_, kSpinKernel);
  machine_.poke<uint32_t>(data_, 1);
  const uint32_t one = 1;
  queue_.submit(pm4_dispatch(spin, data_));
  queue_.submit(Stream() << partial_flush() << write_word(data_ + 68, one));
  run_a_while();
  EXPECT_EQ(word(68), 0u);
  machine_.poke<uint32_t>(data_, 0);
  run();
  EXPECT_EQ(word(68), 1u);
}

TEST_F(DispatchTest, AStreamMayFeedItsOwnRunningKernel) {
  const Program spin = place_program(machine_, kSpinKernel);
  machine_.poke<uint32_t>(data_, 1);
  machine_.poke<uint32_t>(data_ + 4, 77);
  const uint32_t zero = 0;
  queue_.submit(pm4_dispatch(spin, data_));
  queue_.submit(Stream() << write_word(data_, zero)
                         << pm4::WaitRegMem(kFamily)
                                .mem_space(pm4::MemSpace::MEMORY_SPACE)
                                .function(pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE)
                                .address(data_ + 4)
                                .mask(~0u)
                         << release(data_ + 64, 1));
  run();
  EXPECT_EQ(word(64), 1u);
}

TEST_F(DispatchTest, DispatchesOverlapSoThatOneMayWaitForALaterOne) {
  const Program spin = place_program(machine_, kSpinKernel);
  const Program store = place_program(machine_, kStoreIdKernel);
  machine_.poke<uint32_t>(data_, 1);
  queue_.submit(pm4_dispatch(spin, data_));
  queue_.submit(pm4_dispatch(store, data_));  // stores the 0 that the first one wants
  queue_.submit(Stream() << release(data_ + 64, 1));
  run();
  EXPECT_EQ(word(64), 1u);
}

TEST_F(DispatchTest, MoreDispatchesThanSlotsAndMoreEventsThanTheirQueue) {
  const Program count = place_program(machine_, kCountKernel);
  Client& big = machine_.queue(QueueKind::Pm4, 65536);
  const Program spin = place_program(machine_, kSpinKernel);
  machine_.poke<uint32_t>(data_ + 512, 1);
  big.submit(pm4_dispatch(spin, data_ + 512));
  for (uint32_t i = 1; i <= 100; ++i) {
    big.submit(pm4_dispatch(count, data_));
    big.submit(Stream() << release(data_ + 64, i));
  }
  run_a_while();
  EXPECT_EQ(word(64), 0u);
  machine_.poke<uint32_t>(data_ + 512, 0);
  run();
  EXPECT_EQ(word(0), 3200u);
  EXPECT_EQ(word(64), 100u);
}

TEST_F(DispatchTest, FaultingDispatchNamesItsPacketThoughTheFrontEndIsFurther) {
  const Program store = place_program(machine_, kStoreIdKernel);
  queue_.submit(Stream().raw({0xffff1000}));
  const uint64_t at = queue_.put;
  const Stream dispatch = pm4_dispatch(store, 0x1000);
  queue_.submit(dispatch);
  queue_.submit(Stream() << release(data_ + 64, 5));
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  const Fault& fault = machine_.sink.faults[0];
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess) << fault.to_string();
  EXPECT_EQ(fault.address, 0x1000u);
  EXPECT_EQ(fault.packet_offset, at + dispatch.size() - 5);
  EXPECT_THAT(fault.packet, StartsWith("DISPATCH_DIRECT"));
  ASSERT_TRUE(fault.wave.has_value());
  EXPECT_EQ(fault.wave->pc, store.code + 8);
  EXPECT_THAT(fault.wave->disassembly, StartsWith("global_store_b32"));
  EXPECT_EQ(word(64), 0u) << "the end of the pipe was reached";
}

TEST_F(DispatchTest, EmptyGridAndMissingShaderAreRefused) {
  const Program empty = place_program(machine_, kEmptyKernel);
  queue_.submit(pm4_dispatch(empty, data_, 0));
  Client& other = machine_.queue(QueueKind::Pm4);
  Stream stream = pm4_dispatch(empty, data_);
  stream.dwords().back() = 0x8004;
  other.submit(stream);
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 2u);
  for (const Fault& fault : machine_.sink.faults) {
    EXPECT_EQ(fault.kind,
              fault.queue == queue_.id() ? FaultKind::BadDispatch : FaultKind::BadPacket);
    EXPECT_THAT(fault.packet, StartsWith("DISPATCH_DIRECT"));
  }
}

TEST_F(DispatchTest, QueueDestroyedUnderARunningKernel) {
  const Program spin = place_program(machine_, kSpinKernel);
  machine_.poke<uint32_t>(data_, 1);
  queue_.submit(pm4_dispatch(spin, data_));
  run_a_while();
  ASSERT_TRUE(machine_.gpu().destroy_queue(queue_.id()));
  ASSERT_TRUE(machine_.vm.unmap(data_));
  run();
  EXPECT_TRUE(machine_.simulator.idle());
}

class AqlDispatchTest : public DispatchTest {
 protected:
  uint64_t amd_queue() const {
    return aql_.config.read_pointer - offsetof(abi::AmdQueue, read_dispatch_id);
  }
  uint64_t make_signal(int64_t value, uint32_t event = 0) {
    const uint64_t va = machine_.allocate(4096);
    abi::AmdSignal signal{};
    signal.value = value;
    signal.event_id = event;
    if (event) signal.event_mailbox_ptr = va + 2048;
    machine_.poke(va, signal);
    return va;
  }
  int64_t value(uint64_t signal) { return machine_.peek<abi::AmdSignal>(signal).value; }

  Client& aql_ = machine_.queue(QueueKind::Aql, 1024);
};

TEST_F(AqlDispatchTest, CompletesWithTimestampsSignalAndInterrupt) {
  const Program count = place_program(machine_, kCountKernel);
  const uint64_t done = make_signal(3, 12);
  machine_.simulator.clock().advance_ns(10'000);
  aql_.submit(Stream() << aql_dispatch(count, data_, 77).completion_signal(done));
  run();
  EXPECT_EQ(word(0), 77u);
  EXPECT_EQ(value(done), 2);
  const auto signal = machine_.peek<abi::AmdSignal>(done);
  EXPECT_GE(signal.start_ts, gpu_ticks(10'000));
  EXPECT_GT(signal.end_ts, signal.start_ts);
  EXPECT_EQ(machine_.peek<uint64_t>(done + 2048), 12u);
  EXPECT_THAT(machine_.sink.interrupts, ElementsAre(Pair(aql_.id(), 12)));
  EXPECT_EQ(aql_.read_pointer(), 1u);
  EXPECT_EQ(machine_.peek<uint16_t>(aql_.config.ring), abi::HSA_PACKET_TYPE_INVALID);
}

TEST_F(AqlDispatchTest, BarrierBitWaitsForEarlierPackets) {
  const Program spin = place_program(machine_, kSpinKernel);
  const Program store = place_program(machine_, kStoreIdKernel);
  machine_.poke<uint32_t>(data_, 1);
  machine_.poke<uint32_t>(data_ + 64, 9);
  const uint64_t done = make_signal(1);
  aql_.submit(Stream() << aql_dispatch(spin, data_)
                       << aql_dispatch(store, data_ + 64).barrier(true).completion_signal(done));
  run_a_while();
  EXPECT_EQ(word(64), 9u);
  EXPECT_EQ(aql_.read_pointer(), 0u);
  machine_.poke<uint32_t>(data_, 0);
  run();
  EXPECT_EQ(word(64), 0u);
  EXPECT_EQ(value(done), 0);
  EXPECT_EQ(aql_.read_pointer(), 2u);
}

TEST_F(AqlDispatchTest, WithoutItTheyOverlapAndReadIndexStaysInOrder) {
  const Program spin = place_program(machine_, kSpinKernel);
  const Program store = place_program(machine_, kStoreIdKernel);
  machine_.poke<uint32_t>(data_, 1);
  const uint64_t first = make_signal(1), second = make_signal(1);
  aql_.submit(Stream() << aql_dispatch(spin, data_).completion_signal(first)
                       << aql_dispatch(store, data_ + 64).completion_signal(second));
  run_a_while();
  EXPECT_EQ(value(second), 0);
  EXPECT_EQ(value(first), 1);
  EXPECT_EQ(aql_.read_pointer(), 0u) << "the first packet may still be read";
  machine_.poke<uint32_t>(data_, 0);
  run();
  EXPECT_EQ(value(first), 0);
  EXPECT_EQ(aql_.read_pointer(), 2u);
}

TEST_F(AqlDispatchTest, KernelsReadTheirPacketThroughTheDispatchPointer) {
  const Program read =
      place_program(machine_, kReadPacketKernel,
                    abi::ENABLE_SGPR_DISPATCH_PTR | abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR, 4);
  for (uint32_t i = 1; i <= 40; ++i) {  // twice around the ring
    aql_.submit(Stream() << aql_dispatch(read, data_, i));
    run();
    EXPECT_EQ(word(0), i);
  }
}

/// What llvm-mc 14 makes of .amd_kernel_code_t for a kernel with 2 user SGPRs (the kernarg
/// segment's address), workgroup id x, 24 bytes of arguments, 512 of LDS, 16 SGPRs, 32 VGPRs and
/// wave32.
constexpr uint32_t kLegacyObject[64] = {
    0x00000001, 0x00000002, 0x000a0001, 0x00000003, 0x00000100, 0,          0,
    0,          0,          0,          0,          0,          0x60000003, 0x00000084,
    0x00000408, 0x00000000, 0x00000200, 0,          0x00000018, 0,          0x00000000,
    0x00200010, 0x00000000, 0x00000000, 0x00000000, 0x05040404, 0xffffffff};

TEST_F(AqlDispatchTest, LaunchesLegacyKernelObjects) {
  const auto object = std::bit_cast<abi::AmdKernelCode>(std::to_array(kLegacyObject));
  EXPECT_EQ(object.amd_kernel_code_version_major, 1u);
  EXPECT_EQ(object.amd_machine_version_major, 10u);
  EXPECT_EQ(object.kernel_code_entry_byte_offset, 256);
  EXPECT_EQ(object.workgroup_group_segment_byte_size, 512u);
  EXPECT_EQ(object.kernarg_segment_byte_size, 24u);
  EXPECT_EQ(object.wavefront_sgpr_count, 16u);
  EXPECT_EQ(object.workitem_vgpr_count, 32u);
  EXPECT_EQ(object.wavefront_size, 5u) << "log2";
  EXPECT_EQ(object.call_convention, -1);

  std::vector<uint32_t> words(std::begin(kLegacyObject), std::end(kLegacyObject));
  words.insert(words.end(), std::begin(kCountKernel), std::end(kCountKernel));
  const Program legacy{.code = 0, .descriptor = machine_.place(words)};
  const uint64_t done = make_signal(1);
  aql_.submit(Stream() << aql_dispatch(legacy, data_, 77)
                              .group_segment_size(object.workgroup_group_segment_byte_size)
                              .completion_signal(done));
  run();
  EXPECT_EQ(word(0), 77u);
  EXPECT_EQ(value(done), 0);
}

TEST_F(AqlDispatchTest, IllegalInstructionIsToldToTheRuntime) {
  const uint64_t inactive = make_signal(0, 5);
  machine_.poke(amd_queue() + offsetof(abi::AmdQueue, queue_inactive_signal), inactive);
  const Program illegal = place_program(machine_, kIllegalKernel);
  aql_.submit(Stream() << aql_dispatch(illegal, data_));
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  EXPECT_EQ(machine_.sink.faults[0].kind, FaultKind::IllegalInstruction)
      << machine_.sink.faults[0].to_string();
  EXPECT_THAT(machine_.sink.faults[0].packet, StartsWith("KERNEL_DISPATCH"));
  EXPECT_EQ(value(inactive), abi::kQueueErrorIllegalInstruction);
  EXPECT_THAT(machine_.sink.interrupts, ElementsAre(Pair(aql_.id(), 5)));
}

class ScratchTest : public AqlDispatchTest {
 protected:
  void set_scratch(uint32_t lane_bytes, uint32_t properties = 0) {
    abi::AmdQueue queue = machine_.peek<abi::AmdQueue>(amd_queue());
    queue.queue_inactive_signal = inactive_;
    queue.scratch_wave64_lane_byte_size = lane_bytes;
    queue.scratch_resource_descriptor[0] = static_cast<uint32_t>(scratch_);
    queue.scratch_resource_descriptor[1] = static_cast<uint32_t>(scratch_ >> 32);
    queue.compute_tmpring_size = 32 | (lane_bytes * 64 / 256) << 12;
    queue.queue_properties = properties;
    queue.read_dispatch_id = aql_.read_pointer();
    machine_.poke(amd_queue(), queue);
  }
  auto dispatch(uint32_t private_bytes) {
    return aql_dispatch(count_, data_).private_segment_size(private_bytes);
  }

  Program count_ = place_program(machine_, kCountKernel);
  uint64_t inactive_ = make_signal(0, 8);
  uint64_t scratch_ = machine_.allocate(1 << 20);
};

TEST_F(ScratchTest, QueueAsksForScratchAndRetriesThePacket) {
  set_scratch(0);
  aql_.submit(Stream() << dispatch(100));
  run();
  EXPECT_EQ(value(inactive_), abi::kQueueScratchWave32);
  EXPECT_THAT(machine_.sink.interrupts, ElementsAre(Pair(aql_.id(), 8)));
  EXPECT_EQ(word(0), 0u);
  EXPECT_THAT(machine_.simulator.stall_report(), HasSubstr("KERNEL_DISPATCH"));
  set_scratch(128);
  machine_.poke<int64_t>(inactive_ + 8, 0);
  run();
  EXPECT_EQ(word(0), 32u);
  EXPECT_EQ(aql_.read_pointer(), 1u);
}

TEST_F(ScratchTest, EnoughScratchIsNotAskedFor) {
  set_scratch(50);  // 100 bytes for each of 32 lanes
  aql_.submit(Stream() << dispatch(100));
  run();
  EXPECT_EQ(word(0), 32u);
  EXPECT_THAT(machine_.sink.interrupts, IsEmpty());
}

TEST_F(ScratchTest, ScratchUsedOnceIsGivenBack) {
  set_scratch(128, abi::AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE);
  aql_.submit(Stream() << dispatch(100) << dispatch(0));
  run();
  EXPECT_EQ(value(inactive_), abi::kQueueScratchOnceDone);
  EXPECT_EQ(word(0), 32u) << "the next packet did not wait";
  machine_.poke<int64_t>(inactive_ + 8, 0);
  run();
  EXPECT_EQ(word(0), 64u);
  EXPECT_EQ(aql_.read_pointer(), 2u);
}

TEST_F(ScratchTest, DispatchesWithScratchDoNotOverlap) {
  const Program spin = place_program(machine_, kSpinKernel);
  machine_.poke<uint32_t>(data_ + 64, 1);
  set_scratch(128);
  aql_.submit(Stream() << aql_dispatch(spin, data_ + 64).private_segment_size(100)
                       << dispatch(100));
  run_a_while();
  EXPECT_EQ(word(0), 0u) << "both use the ring's first slots";
  machine_.poke<uint32_t>(data_ + 64, 0);
  run();
  EXPECT_EQ(word(0), 32u);
}

TEST_F(ScratchTest, WithoutARuntimeToAskItIsAFault) {
  set_scratch(0);
  machine_.poke<uint64_t>(amd_queue() + offsetof(abi::AmdQueue, queue_inactive_signal), 0);
  aql_.submit(Stream() << dispatch(100));
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  EXPECT_EQ(machine_.sink.faults[0].kind, FaultKind::BadDispatch);
}

TEST(DispatchSchedule, SameSeedSameClockAndOrder) {
  auto run = [](uint64_t seed) {
    Machine machine(seed);
    const uint64_t data = machine.allocate(4096);
    const Program store = place_program(machine, kStoreIdKernel);
    for (uint32_t i = 0; i < 4; ++i) {
      machine.queue(QueueKind::Pm4).submit(pm4_dispatch(store, data, i + 1, 1));
    }
    machine.run();
    return std::pair(machine.peek<uint32_t>(data), machine.simulator.clock().now_ns());
  };
  std::vector<uint32_t> seen(4);
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto first = run(seed);
    EXPECT_EQ(run(seed), first);
    ASSERT_LT(first.first, 4u);
    ++seen[first.first];
  }
  for (uint32_t count : seen) EXPECT_GT(count, 0u) << "an order never happens";
}

}  // namespace
}  // namespace doppel::emu::test
