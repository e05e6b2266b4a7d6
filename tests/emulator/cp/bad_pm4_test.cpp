// Bad PM4: every mistake is one precise fault of its own queue, and the other queues go on.
#include <gmock/gmock.h>

#include "tests/emulator/machine.h"

namespace doppel::emu::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class BadPm4Test : public ::testing::Test {
 protected:
  /// Submits NOPs and the stream; returns the fault that the latter ends with. Another queue must
  /// still work.
  Fault fault_of(const Stream& stream) {
    queue_.submit(Stream().raw({0xffff1000, 0xffff1000, 0xffff1000}));
    queue_.submit(stream);
    machine_.run();
    EXPECT_EQ(machine_.sink.faults.size(), 1u);
    if (machine_.sink.faults.size() != 1) return {};
    const Fault fault = machine_.sink.faults[0];
    EXPECT_EQ(fault.queue, queue_.id());
    expect_others_work();
    return fault;
  }
  void expect_others_work() {
    Client& other = machine_.queue(QueueKind::Pm4);
    const uint32_t value = 9;
    other.submit(Stream() << pm4::WriteData(kFamily)
                                 .dst_sel(pm4::WriteDst::TC_L2)
                                 .address(data_ + 64)
                                 .payload(std::span(&value, 1)));
    machine_.run();
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 64), 9u);
    EXPECT_EQ(machine_.sink.faults.size(), 1u);
  }
  auto ib(uint64_t base, uint32_t dwords, bool chain = false) {
    return pm4::IndirectBuffer(kFamily).ib_base(base).ib_size(dwords).chain(chain).valid(true);
  }

  Machine machine_;
  Client& queue_ = machine_.queue(QueueKind::Pm4);
  uint64_t data_ = machine_.allocate(4096);
  uint64_t hole_ = 0x1000;  // not mapped
};

TEST_F(BadPm4Test, HeaderOfAnotherType) {
  const Fault fault = fault_of(Stream().raw({0x12345678}));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("0x12345678"));
  EXPECT_EQ(fault.packet_offset, 3u);
}

TEST_F(BadPm4Test, UnknownOpcode) {
  const Fault fault = fault_of(Stream().raw({0xc000ff00, 0}));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("0xff"));
}

TEST_F(BadPm4Test, OpcodeThatExistsButIsNotModelled) {
  const Fault fault = fault_of(Stream().raw({0xc0002d00, 0}));  // DRAW_INDEX_AUTO
  EXPECT_EQ(fault.kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(fault.message, HasSubstr("DRAW_INDEX_AUTO"));
}

TEST_F(BadPm4Test, WrongCount) {
  const Fault fault = fault_of(Stream().raw({0xc0054900, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, AllOf(HasSubstr("RELEASE_MEM"), HasSubstr("7")));
}

TEST_F(BadPm4Test, WriteToAHoleNamesPacketPlaceAndNeighbour) {
  const uint32_t value = 1;
  const Fault fault = fault_of(Stream() << pm4::WriteData(kFamily)
                                               .dst_sel(pm4::WriteDst::TC_L2)
                                               .address(data_ + 4096)
                                               .payload(std::span(&value, 1)));
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(fault.address, data_ + 4096);
  EXPECT_EQ(fault.access_size, 4u);
  EXPECT_TRUE(fault.is_write);
  EXPECT_THAT(fault.packet, AllOf(StartsWith("WRITE_DATA"), EndsWith("at dword 3 of the ring")));
  EXPECT_THAT(fault.nearest_allocation, EndsWith("0 bytes above its end"));
}

TEST_F(BadPm4Test, WriteToReadOnlyMemory) {
  const uint64_t read_only = machine_.allocate(4096, 1);
  const Fault fault = fault_of(Stream() << pm4::ReleaseMem(kFamily)
                                               .event_index(pm4::ReleaseIndex::END_OF_PIPE)
                                               .data_sel(pm4::DataSel::SEND_32_BIT_LOW)
                                               .address(read_only));
  EXPECT_EQ(fault.kind, FaultKind::PermissionDenied);
}

TEST_F(BadPm4Test, MisalignedAddresses) {
  const Fault fault = fault_of(Stream() << pm4::ReleaseMem(kFamily)
                                               .event_index(pm4::ReleaseIndex::END_OF_PIPE)
                                               .data_sel(pm4::DataSel::SEND_64_BIT_DATA)
                                               .address(data_ + 4));
  EXPECT_EQ(fault.kind, FaultKind::Misaligned);
  EXPECT_EQ(fault.address, data_ + 4);
}

TEST_F(BadPm4Test, PollOfAHole) {
  const Fault fault = fault_of(Stream() << pm4::WaitRegMem(kFamily)
                                               .mem_space(pm4::MemSpace::MEMORY_SPACE)
                                               .function(pm4::Function::NOT_EQUAL_REFERENCE_VALUE)
                                               .address(hole_));
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_FALSE(fault.is_write);
}

TEST_F(BadPm4Test, PollWhoseMemoryGoesAway) {
  const uint64_t polled = machine_.allocate(4096);
  queue_.submit(Stream() << pm4::WaitRegMem(kFamily)
                                .mem_space(pm4::MemSpace::MEMORY_SPACE)
                                .function(pm4::Function::NOT_EQUAL_REFERENCE_VALUE)
                                .address(polled)
                                .mask(~0u));
  machine_.run();
  ASSERT_THAT(machine_.sink.faults, IsEmpty());
  ASSERT_TRUE(machine_.vm.unmap(polled));
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  EXPECT_EQ(machine_.sink.faults[0].kind, FaultKind::UnmappedAccess);
}

TEST_F(BadPm4Test, ReservedCompareFunction) {
  const Fault fault = fault_of(Stream().raw({0xc0053c00, 0x17, 0, 0, 0, 0, 4}));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("(7)"));
}

TEST_F(BadPm4Test, RegisterThatIsNotThere) {
  const Fault fault = fault_of(Stream() << pm4::WaitRegMem(kFamily).reg_poll_addr(0x1234));
  EXPECT_EQ(fault.kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(fault.message, HasSubstr("0x1234"));
}

TEST_F(BadPm4Test, RegistersBeyondTheWindow) {
  const uint32_t values[] = {1, 2};
  const Fault fault =
      fault_of(Stream() << pm4::SetShReg(kFamily).reg_offset(0x3ff).payload(values));
  EXPECT_EQ(fault.kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(fault.message, HasSubstr("0x3000"));
}

TEST_F(BadPm4Test, AtomicOperationThatDoesNotExist) {
  const Fault fault = fault_of(Stream().raw({0xc0071e00, 0x02, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(fault.kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(fault.message, HasSubstr("ATOMIC_MEM"));
}

TEST_F(BadPm4Test, IbNotMapped) {
  const Fault fault = fault_of(Stream() << ib(hole_, 8));
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(fault.packet_offset, 3u);
  EXPECT_THAT(fault.message, StartsWith("The indirect buffer can't be read."));
}

TEST_F(BadPm4Test, IbThatEndsInsideAPacket) {
  const uint64_t base = machine_.place({{0xffff1000, 0xc0064900, 0, 0}});
  const Fault fault = fault_of(Stream() << ib(base, 4));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_EQ(fault.packet_offset, 3u);
  EXPECT_THAT(fault.packet, HasSubstr("at dword 1 of the IB at"));
}

TEST_F(BadPm4Test, IbThatSkipsBeyondItsEnd) {
  Stream inner;
  inner << pm4::CondExec(kFamily).address(data_).exec_count(1);
  const Fault fault = fault_of(Stream() << ib(machine_.place(inner.dwords()), inner.size()));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("skips beyond the end"));
}

TEST_F(BadPm4Test, IbsNestedTooDeep) {
  const uint64_t third = machine_.place({{0xffff1000}});
  Stream second, first;
  second << ib(third, 1);
  first << ib(machine_.place(second.dwords()), second.size());
  const Fault fault = fault_of(Stream() << ib(machine_.place(first.dwords()), first.size()));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("nested too deep"));
}

TEST_F(BadPm4Test, IbThatCallsItselfEndsAtTheDepth) {
  const uint64_t base = machine_.allocate(4096);
  Stream inner;
  inner << ib(base, 4);
  ASSERT_TRUE(machine_.vm.write(base, std::as_bytes(std::span(inner.dwords()))));
  EXPECT_EQ(fault_of(Stream() << ib(base, 4)).kind, FaultKind::BadPacket);
}

TEST_F(BadPm4Test, IbThatChainsToItselfForEver) {
  const uint64_t base = machine_.allocate(4096);
  Stream inner;
  inner << ib(base, 4, true);
  ASSERT_TRUE(machine_.vm.write(base, std::as_bytes(std::span(inner.dwords()))));
  const Fault fault = fault_of(Stream() << ib(base, 4));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("without end"));
}

TEST_F(BadPm4Test, LongIbThatChainsToItselfForEver) {
  constexpr uint32_t kSize = 0xfffff, kLongNop = 0x3fff;  // dwords, the most that the fields hold
  const uint64_t base = machine_.allocate(kSize * 4);
  Stream inner;
  inner.dwords().assign(kSize - 4, 0xffff1000);
  for (uint32_t at = 0; at + kLongNop <= inner.size(); at += kLongNop) {
    inner.dwords()[at] = pm4::type3_header(0x10, kLongNop);
  }
  inner << ib(base, kSize, true);
  ASSERT_TRUE(machine_.vm.write(base, std::as_bytes(std::span(inner.dwords()))));
  const Fault fault = fault_of(Stream() << ib(base, kSize));
  EXPECT_THAT(fault.message, HasSubstr("without end"));
}

TEST_F(BadPm4Test, RingThatChains) {
  const Fault fault = fault_of(Stream() << ib(data_, 4, true));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
}

TEST_F(BadPm4Test, PacketLongerThanTheRing) {
  // 0x3ffe + 2 dwords in a ring of 1024.
  const Fault fault = fault_of(Stream().raw({0xfffe1000}));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("longer than the ring"));
}

TEST_F(BadPm4Test, PacketSubmittedInPartIsAStallNotAFault) {
  queue_.submit(Stream().raw({0xc0064900, 0x514}));
  machine_.run();
  EXPECT_THAT(machine_.sink.faults, IsEmpty());
  EXPECT_FALSE(machine_.simulator.idle());
  EXPECT_THAT(machine_.simulator.stall_report(),
              HasSubstr("at dword 0 of the ring is submitted only in part (2 of 8 dwords)"));
}

TEST_F(BadPm4Test, WritePointerBeyondTheRing) {
  queue_.doorbell = 1025;
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  EXPECT_THAT(machine_.sink.faults[0].message, HasSubstr("further ahead than the ring is long"));
}

TEST_F(BadPm4Test, RingNotMapped) {
  ASSERT_TRUE(machine_.vm.unmap(queue_.config.ring));
  queue_.doorbell = 4;
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  EXPECT_EQ(machine_.sink.faults[0].kind, FaultKind::UnmappedAccess);
  EXPECT_THAT(machine_.sink.faults[0].message, StartsWith("The ring can't be read."));
}

TEST_F(BadPm4Test, PointersNotMapped) {
  ASSERT_TRUE(machine_.vm.unmap(queue_.config.write_pointer / 4096 * 4096));
  queue_.doorbell = 1;
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  EXPECT_THAT(machine_.sink.faults[0].message, StartsWith("The write pointer can't be read."));
}

TEST_F(BadPm4Test, AFaultedQueueStaysStopped) {
  fault_of(Stream().raw({0}));
  const uint32_t value = 1;
  queue_.submit(Stream() << pm4::WriteData(kFamily)
                                .dst_sel(pm4::WriteDst::TC_L2)
                                .address(data_)
                                .payload(std::span(&value, 1)));
  machine_.run();
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 0u);
  EXPECT_TRUE(machine_.gpu().destroy_queue(queue_.id()));
}

}  // namespace
}  // namespace doppel::emu::test
