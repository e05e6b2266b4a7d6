// AQL packets that launch nothing: barriers, vendor packets, refusals, the ring's bookkeeping.
#include <gmock/gmock.h>

#include "core/abi/amd_queue.h"
#include "core/abi/amd_signal.h"
#include "core/abi/hsa_aql.h"
#include "tests/emulator/machine.h"

namespace doppel::emu::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class AqlTest : public ::testing::Test {
 protected:
  AqlTest() { set_inactive_signal(inactive_); }
  uint64_t amd_queue() const {
    return queue_.config.read_pointer - offsetof(abi::AmdQueue, read_dispatch_id);
  }
  void set_inactive_signal(uint64_t signal) {
    machine_.poke(amd_queue() + offsetof(abi::AmdQueue, queue_inactive_signal), signal);
  }
  uint64_t make_signal(int64_t value, uint32_t event = 0) {
    const uint64_t va = signals_ + 64 * signal_count_++;
    abi::AmdSignal signal{};
    signal.kind = abi::AMD_SIGNAL_KIND_USER;
    signal.value = value;
    if (event) signal.event_mailbox_ptr = mailbox_;
    signal.event_id = event;
    machine_.poke(va, signal);
    return va;
  }
  int64_t value(uint64_t signal) { return machine_.peek<abi::AmdSignal>(signal).value; }
  void set(uint64_t signal, int64_t value) {
    machine_.poke(signal + offsetof(abi::AmdSignal, value), value);
  }
  void run() {
    machine_.run();
    ASSERT_THAT(machine_.sink.faults, IsEmpty()) << machine_.sink.faults[0].to_string();
  }
  Fault fault_of(const Stream& stream) {
    queue_.submit(stream);
    machine_.run();
    EXPECT_EQ(machine_.sink.faults.size(), 1u);
    return machine_.sink.faults.empty() ? Fault{} : machine_.sink.faults[0];
  }

  Machine machine_;
  Client& queue_ = machine_.queue(QueueKind::Aql, 1024);
  uint64_t signals_ = machine_.allocate(4096);
  uint64_t mailbox_ = machine_.allocate(4096);
  uint32_t signal_count_ = 0;
  uint64_t inactive_ = make_signal(0, 99);
};

TEST_F(AqlTest, BarrierAndWaitsForAllAndCompletes) {
  const uint64_t a = make_signal(1), b = make_signal(2), done = make_signal(1, 7);
  machine_.simulator.clock().advance_ns(50'000);
  queue_.submit(
      Stream() << aql::BarrierAnd(kFamily).dep_signal0(a).dep_signal4(b).completion_signal(done));
  run();
  EXPECT_EQ(value(done), 1);
  EXPECT_EQ(queue_.read_pointer(), 0u);
  EXPECT_THAT(machine_.simulator.stall_report(), HasSubstr("BARRIER_AND"));
  set(a, 0);
  run();
  EXPECT_EQ(value(done), 1);
  machine_.simulator.clock().advance_ns(50'000);
  set(b, 0);
  run();
  EXPECT_EQ(value(done), 0);
  EXPECT_EQ(queue_.read_pointer(), 1u);
  EXPECT_EQ(machine_.peek<uint16_t>(queue_.config.ring), abi::HSA_PACKET_TYPE_INVALID);
  EXPECT_EQ(machine_.peek<uint64_t>(mailbox_), 7u);
  EXPECT_THAT(machine_.sink.interrupts, ElementsAre(Pair(queue_.id(), 7)));
  const auto signal = machine_.peek<abi::AmdSignal>(done);
  EXPECT_GE(signal.start_ts, gpu_ticks(50'000));
  EXPECT_GE(signal.end_ts, signal.start_ts + gpu_ticks(50'000));
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(AqlTest, BarrierOrWaitsForOne) {
  const uint64_t a = make_signal(1), b = make_signal(1), done = make_signal(5);
  queue_.submit(
      Stream() << aql::BarrierOr(kFamily).dep_signal1(a).dep_signal3(b).completion_signal(done));
  run();
  EXPECT_EQ(value(done), 5);
  set(b, 0);
  run();
  EXPECT_EQ(value(done), 4);
}

TEST_F(AqlTest, BarriersWithoutDependenciesPass) {
  queue_.submit(Stream() << aql::BarrierOr(kFamily) << aql::BarrierAnd(kFamily)
                         << aql::VendorBarrierValue(kFamily));
  run();
  EXPECT_EQ(queue_.read_pointer(), 3u);
}

TEST_F(AqlTest, BarrierValueComparesSigned) {
  struct Case {
    aql::SignalCondition condition;
    int64_t blocks, passes;
  };
  uint64_t packets = 0;
  for (const Case& c :
       {Case{aql::SignalCondition::EQ, 4, -5}, Case{aql::SignalCondition::NE, -5, 1},
        Case{aql::SignalCondition::LT, -5, -6}, Case{aql::SignalCondition::GTE, -6, -5},
        Case{aql::SignalCondition::GTE, -6, 1}}) {
    const uint64_t signal = make_signal(c.blocks);
    queue_.submit(Stream() << aql::VendorBarrierValue(kFamily)
                                  .signal(signal)
                                  .cond(c.condition)
                                  .value(static_cast<uint64_t>(-5))
                                  .mask(~uint64_t{0}));
    run();
    EXPECT_EQ(queue_.read_pointer(), packets);
    set(signal, c.passes);
    run();
    EXPECT_EQ(queue_.read_pointer(), ++packets);
  }
}

TEST_F(AqlTest, Pm4IbIsCarriedOutThenThePacketIsDone) {
  const uint64_t word = machine_.allocate(4096);
  const uint32_t one = 1;
  Stream inner;
  inner << pm4::AcquireMem(kFamily)
        << pm4::WaitRegMem(kFamily)
               .mem_space(pm4::MemSpace::MEMORY_SPACE)
               .function(pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE)
               .address(word)
               .reference(1)
               .mask(~0u)
        << pm4::WriteData(kFamily)
               .dst_sel(pm4::WriteDst::TC_L2)
               .address(word + 4)
               .payload(std::span(&one, 1));
  const uint64_t base = machine_.place(inner.dwords());
  const uint64_t done = make_signal(1);
  queue_.submit(Stream() << aql::VendorPm4Ib(kFamily)
                                .barrier(true)
                                .ib_header(0xc0023f00)
                                .ib_base(base)
                                .ib_control(inner.size() | 1 << 23)
                                .dw_cnt_remain(10)
                                .completion_signal(done));
  run();
  EXPECT_EQ(queue_.read_pointer(), 0u);
  EXPECT_EQ(value(done), 1);
  EXPECT_FALSE(machine_.simulator.idle());
  machine_.poke<uint32_t>(word, 1);
  run();
  EXPECT_EQ(machine_.peek<uint32_t>(word + 4), 1u);
  EXPECT_EQ(queue_.read_pointer(), 1u);
  EXPECT_EQ(value(done), 0);
}

TEST_F(AqlTest, FaultInAPm4IbNamesBothPackets) {
  const uint64_t base = machine_.place({{0xffff1000, 0x00000000}});
  queue_.submit(Stream() << aql::BarrierAnd(kFamily));
  const Fault fault = fault_of(
      Stream() << aql::VendorPm4Ib(kFamily).ib_header(0xc0023f00).ib_base(base).ib_control(2));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_EQ(fault.packet_offset, 16u);
  EXPECT_THAT(fault.packet, HasSubstr("at dword 1 of the IB"));
}

TEST_F(AqlTest, PacketsAreTakenWhenTheirHeaderIsPublished) {
  // The producer's order: reserve (write_dispatch_id), fill in, publish the header, ring.
  Stream packet;
  packet << aql::BarrierAnd(kFamily);
  machine_.poke<uint64_t>(queue_.config.write_pointer, 1);
  run();
  EXPECT_EQ(queue_.read_pointer(), 0u);
  EXPECT_FALSE(machine_.simulator.idle());
  EXPECT_THAT(machine_.simulator.stall_report(), HasSubstr("header is still INVALID"));
  queue_.write(packet.dwords());
  run();
  EXPECT_EQ(queue_.read_pointer(), 1u);
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(AqlTest, ProducersMayReserveFurtherThanTheRing) {
  machine_.poke<uint64_t>(queue_.config.write_pointer, 40);  // ring of 16
  run();
  Stream packet;
  packet << aql::BarrierAnd(kFamily);
  for (uint64_t i = 0; i < 40; ++i) {
    queue_.write(packet.dwords());
    run();
    EXPECT_EQ(queue_.read_pointer(), i + 1);
  }
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(AqlTest, TheDoorbellHoldsTheLastIndex) {
  Stream packet;
  packet << aql::BarrierAnd(kFamily);
  queue_.write(packet.dwords());
  queue_.write(packet.dwords());
  queue_.ring_doorbell();  // 1: two packets
  run();
  EXPECT_EQ(queue_.read_pointer(), 2u);
}

TEST_F(AqlTest, AgentDispatchIsRefusedAndTheRuntimeIsTold) {
  const Fault fault = fault_of(Stream() << aql::AgentDispatch(kFamily));
  EXPECT_EQ(fault.kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(fault.message, HasSubstr("agent dispatch"));
  EXPECT_EQ(value(inactive_), abi::kQueueErrorPacket);
  EXPECT_EQ(machine_.peek<uint64_t>(mailbox_), 99u);
  EXPECT_THAT(machine_.sink.interrupts, ElementsAre(Pair(queue_.id(), 99)));
}

TEST_F(AqlTest, UnknownTypeAndVendorFormatAreRefused) {
  const Fault fault = fault_of(Stream().raw({9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_EQ(value(inactive_), abi::kQueueErrorPacket);
}

TEST_F(AqlTest, Pm4IbPacketWithoutAnIndirectBuffer) {
  const Fault fault = fault_of(Stream() << aql::VendorPm4Ib(kFamily).ib_header(0xffff1000));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_EQ(value(inactive_), abi::kQueueErrorVendorPacket);
}

TEST_F(AqlTest, DispatchWithWrongDimensions) {
  const Fault fault = fault_of(Stream() << aql::KernelDispatch(kFamily)
                                               .dimensions(1)
                                               .workgroup_size_x(64)
                                               .workgroup_size_y(1)
                                               .workgroup_size_z(1)
                                               .grid_size_x(0)
                                               .grid_size_y(1)
                                               .grid_size_z(1));
  EXPECT_EQ(fault.kind, FaultKind::BadDispatch);
  EXPECT_EQ(value(inactive_), abi::kQueueErrorDimensions);
}

struct LimitCase {
  uint32_t workgroup, lds, code;
};

class AqlLimitTest : public AqlTest, public ::testing::WithParamInterface<LimitCase> {};

TEST_P(AqlLimitTest, IsReportedByItsCode) {
  const Fault fault = fault_of(Stream() << aql::KernelDispatch(kFamily)
                                               .dimensions(3)
                                               .workgroup_size_x(GetParam().workgroup)
                                               .workgroup_size_y(2)
                                               .workgroup_size_z(1)
                                               .grid_size_x(1)
                                               .grid_size_y(1)
                                               .grid_size_z(1)
                                               .group_segment_size(GetParam().lds));
  EXPECT_EQ(fault.kind, FaultKind::BadDispatch);
  EXPECT_EQ(value(inactive_), GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(Limits, AqlLimitTest,
                         ::testing::Values(LimitCase{1024, 0, abi::kQueueErrorWorkgroupSize},
                                           LimitCase{64, 65537, abi::kQueueErrorGroupMemory}));

TEST_F(AqlTest, KernelObjectInAHoleIsAMemoryFaultThatTheDriverReports) {
  const Fault fault = fault_of(Stream() << aql::KernelDispatch(kFamily)
                                               .dimensions(1)
                                               .workgroup_size_x(64)
                                               .workgroup_size_y(1)
                                               .workgroup_size_z(1)
                                               .grid_size_x(64)
                                               .grid_size_y(1)
                                               .grid_size_z(1)
                                               .kernel_object(0x1000));
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(value(inactive_), 0);
}

TEST_F(AqlTest, CompletionSignalInAHole) {
  const Fault fault = fault_of(Stream() << aql::BarrierAnd(kFamily).completion_signal(0x1000));
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_TRUE(fault.is_write);
}

TEST_F(AqlTest, ErrorsWithoutAnAmdQueueGoToTheDriverAlone) {
  set_inactive_signal(0x1000);  // not mapped
  EXPECT_EQ(fault_of(Stream() << aql::AgentDispatch(kFamily)).kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(machine_.sink.interrupts, IsEmpty());
}

}  // namespace
}  // namespace doppel::emu::test
