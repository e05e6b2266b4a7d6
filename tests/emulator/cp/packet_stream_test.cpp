// Rings and indirect buffers, driven through queues: wrap-around, pieces, nesting, chaining.
#include <gmock/gmock.h>

#include "tests/emulator/machine.h"

namespace doppel::emu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StreamTest : public ::testing::Test {
 protected:
  /// A packet that adds 1 to the counter.
  static auto count(uint64_t counter) {
    return pm4::AtomicMem(kFamily)
        .atomic(pm4::AtomicOp::TC_OP_ATOMIC_ADD_32)
        .address(counter)
        .src_data(1);
  }
  static auto ib(uint64_t base, uint32_t dwords, bool chain = false) {
    return pm4::IndirectBuffer(kFamily).ib_base(base).ib_size(dwords).chain(chain).valid(true);
  }
  uint64_t place(const Stream& stream) { return machine_.place(stream.dwords()); }
  void run() {
    machine_.run();
    ASSERT_THAT(machine_.sink.faults, IsEmpty()) << machine_.sink.faults[0].to_string();
  }
  uint32_t counted() { return machine_.peek<uint32_t>(counter_); }

  Machine machine_;
  Client& queue_ = machine_.queue(QueueKind::Pm4, 1024);
  uint64_t counter_ = machine_.allocate(4096);
};

TEST_F(StreamTest, PacketsWrapAroundTheEndOfTheRing) {
  // 9 dwords do not divide 256: packets straddle the end in every way.
  for (int i = 0; i < 300; ++i) {
    queue_.submit(Stream() << count(counter_));
    run();
  }
  EXPECT_EQ(counted(), 300u);
  EXPECT_EQ(queue_.read_pointer(), 2700u);
}

TEST_F(StreamTest, AFullRingIsCarriedOut) {
  Stream stream;
  for (int i = 0; i < 28; ++i) stream << count(counter_);
  stream.raw({0xffff1000, 0xffff1000, 0xffff1000, 0xffff1000});
  ASSERT_EQ(stream.size() * 4, queue_.config.ring_bytes);
  for (uint32_t round = 1; round <= 3; ++round) {
    queue_.submit(stream);
    run();
    EXPECT_EQ(counted(), 28 * round);
  }
}

TEST_F(StreamTest, APacketMayArriveInPieces) {
  Stream stream;
  stream << count(counter_);
  for (uint32_t dword : stream.dwords()) {
    EXPECT_EQ(counted(), 0u);
    queue_.submit(std::span(&dword, 1));
    run();
  }
  EXPECT_EQ(counted(), 1u);
}

TEST_F(StreamTest, TheWritePointerInMemoryIsEnough) {
  Stream stream;
  stream << count(counter_);
  queue_.write(stream.dwords());
  queue_.set_write_pointer();
  run();
  EXPECT_EQ(counted(), 1u);
}

TEST_F(StreamTest, TheDoorbellIsEnough) {
  Stream stream;
  stream << count(counter_);
  queue_.write(stream.dwords());
  queue_.ring_doorbell();
  run();
  EXPECT_EQ(counted(), 1u);
}

TEST_F(StreamTest, IbsReturnToTheirCaller) {
  Stream inner, outer;
  inner << count(counter_) << count(counter_);
  outer << count(counter_) << ib(place(inner), inner.size()) << count(counter_);
  queue_.submit(Stream() << ib(place(outer), outer.size()) << count(counter_));
  run();
  EXPECT_EQ(counted(), 5u);
  EXPECT_EQ(queue_.read_pointer(), queue_.put);
}

TEST_F(StreamTest, AnIbThatEndsWithItsCallReturnsTwoLevels) {
  Stream inner, outer;
  inner << count(counter_);
  outer << ib(place(inner), inner.size());
  queue_.submit(Stream() << ib(place(outer), outer.size()) << count(counter_));
  run();
  EXPECT_EQ(counted(), 2u);
}

TEST_F(StreamTest, AChainReplacesTheRestOfItsIb) {
  Stream last, first;
  last << count(counter_);
  first << count(counter_) << ib(place(last), last.size(), true) << count(counter_);
  queue_.submit(Stream() << ib(place(first), first.size()) << count(counter_));
  run();
  EXPECT_EQ(counted(), 3u);
}

TEST_F(StreamTest, AnEmptyIbIsNothing) {
  queue_.submit(Stream() << ib(counter_, 0) << count(counter_));
  run();
  EXPECT_EQ(counted(), 1u);
}

TEST_F(StreamTest, ALoopOfIbsThatWaitsForTheHostMayGoOn) {
  const uint64_t base = machine_.allocate(4096);
  Stream loop;
  loop << pm4::AtomicMem(kFamily)  // takes a token of the host's
              .atomic(pm4::AtomicOp::TC_OP_ATOMIC_CMPSWAP_RTN_32)
              .command(pm4::AtomicCommand::LOOP_UNTIL_COMPARE_SATISFIED)
              .address(counter_ + 64)
              .cmp_data(1)
       << count(counter_) << ib(base, 22, true);
  ASSERT_EQ(loop.size(), 22u);
  ASSERT_TRUE(machine_.vm.write(base, std::as_bytes(std::span(loop.dwords()))));
  queue_.submit(Stream() << ib(base, loop.size()));
  for (uint32_t i = 1; i <= 70'000; ++i) {  // more than a loop without waits may take
    machine_.poke<uint32_t>(counter_ + 64, 1);
    run();
    ASSERT_EQ(counted(), i);
  }
}

TEST_F(StreamTest, AnIbSeesWhatWasPatchedAfterItsCallWasQueued) {
  Stream inner;
  inner << count(counter_);
  const uint64_t base = place(inner);
  const uint32_t five = 5;
  queue_.submit(
      Stream() << pm4::WriteData(kFamily)
                      .dst_sel(pm4::WriteDst::TC_L2)
                      .address(base + 4 * pm4::AtomicMem::src_data_field.in(kFamily).dword)
                      .payload(std::span(&five, 1))
               << ib(base, inner.size()));
  run();
  EXPECT_EQ(counted(), 5u);
}

TEST_F(StreamTest, TwoQueuesWaitForEachOtherInTurns) {
  Client& other = machine_.queue(QueueKind::Pm4, 1024);
  const uint64_t turn = counter_ + 64;
  auto wait = [&](uint32_t value) {
    return pm4::WaitRegMem(kFamily)
        .mem_space(pm4::MemSpace::MEMORY_SPACE)
        .function(pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE)
        .address(turn)
        .reference(value)
        .mask(~0u);
  };
  auto set = [&](uint32_t value) {
    return pm4::ReleaseMem(kFamily)
        .event_index(pm4::ReleaseIndex::END_OF_PIPE)
        .data_sel(pm4::DataSel::SEND_32_BIT_LOW)
        .address(turn)
        .data(value);
  };
  for (uint32_t i = 0; i < 10; ++i) {
    queue_.submit(Stream() << wait(2 * i) << count(counter_) << set(2 * i + 1));
    other.submit(Stream() << wait(2 * i + 1) << count(counter_) << set(2 * i + 2));
  }
  run();
  EXPECT_EQ(counted(), 20u);
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(StreamTest, APausedQueueTakesNothingUntilItGoesOn) {
  ASSERT_TRUE(machine_.gpu().update_queue(queue_.id(), 0, 0));
  queue_.submit(Stream() << count(counter_));
  run();
  EXPECT_EQ(counted(), 0u);
  ASSERT_TRUE(
      machine_.gpu().update_queue(queue_.id(), queue_.config.ring, queue_.config.ring_bytes));
  run();
  EXPECT_EQ(counted(), 1u);
}

TEST_F(StreamTest, ADestroyedQueueTouchesNothing) {
  queue_.submit(Stream() << count(counter_));
  ASSERT_TRUE(machine_.gpu().destroy_queue(queue_.id()));
  ASSERT_TRUE(machine_.vm.unmap(queue_.config.ring));
  run();
  EXPECT_EQ(counted(), 0u);
  EXPECT_EQ(machine_.gpu().destroy_queue(queue_.id()).error().code(), StatusCode::NotFound);
}

TEST_F(StreamTest, QueuesThatHardwareCannotRunAreRefused) {
  auto refused = [&](auto change) {
    QueueConfig config = queue_.config;
    config.id = 77;
    change(config);
    const auto created = machine_.gpu().create_queue(config, &machine_.sink);
    return !created && created.error().code() == StatusCode::InvalidArgument;
  };
  EXPECT_TRUE(refused([](QueueConfig& c) { c.ring_bytes = 3072; }));
  EXPECT_TRUE(refused([](QueueConfig& c) { c.ring_bytes = 512; }));
  EXPECT_TRUE(refused([](QueueConfig& c) { c.ring += 4; }));
  EXPECT_TRUE(refused([](QueueConfig& c) { c.vm = nullptr; }));
  EXPECT_TRUE(refused([](QueueConfig& c) { c.read_pointer += 4; }));
  EXPECT_TRUE(refused([](QueueConfig& c) { c.write_pointer = 0, c.doorbell = nullptr; }));
  EXPECT_TRUE(refused([](QueueConfig& c) { c.kind = QueueKind::Sdma, c.sdma_engine = 2; }));
  EXPECT_TRUE(refused([&](QueueConfig& c) { c.id = queue_.id(); }));
}

TEST(StallReport, TellsWhoWouldEndTheWait) {
  Machine machine;
  const uint64_t a = machine.allocate(4096), b = machine.allocate(4096);
  auto wait = [&](uint64_t va) {
    return pm4::WaitRegMem(kFamily)
        .mem_space(pm4::MemSpace::MEMORY_SPACE)
        .function(pm4::Function::GREATER_THAN_OR_EQUAL_REFERENCE_VALUE)
        .address(va)
        .reference(1)
        .mask(~0u);
  };
  Client& pm4_queue = machine.queue(QueueKind::Pm4);
  pm4_queue.submit(Stream() << wait(a)
                            << pm4::ReleaseMem(kFamily)
                                   .event_index(pm4::ReleaseIndex::END_OF_PIPE)
                                   .data_sel(pm4::DataSel::SEND_32_BIT_LOW)
                                   .address(b)
                                   .data(1));
  Client& sdma_queue = machine.queue(QueueKind::Sdma);
  sdma_queue.submit(Stream() << sdma::PollRegmem(kFamily)
                                    .func(sdma::PollFunction::EQUAL)
                                    .mem_poll(true)
                                    .address(b)
                                    .value(1)
                                    .mask(~0u)
                                    .retry_count(sdma::kPollForEver)
                             << sdma::Fence(kFamily).address(a).data(1));
  Client& lonely = machine.queue(QueueKind::Pm4);
  lonely.submit(Stream() << wait(a + 64));
  machine.run();
  EXPECT_FALSE(machine.simulator.idle());
  const std::string report = machine.simulator.stall_report();
  EXPECT_EQ(
      report,
      "queue 1 (pm4, gpu 0): WAIT_REG_MEM at dword 0 of the ring waits for 0x7f0000000000 >= 1, "
      "which holds 0 (gtt 0x7f0000000000+0x1000 (handle 1) +0x0)\n"
      "  queue 2 (sdma, gpu 0) would write it, but waits itself: FENCE at dword 6 of the ring\n"
      "queue 2 (sdma, gpu 0): POLL_REGMEM at dword 0 of the ring waits for 0x7f0000011000 == 1, "
      "which holds 0 (gtt 0x7f0000011000+0x1000 (handle 2) +0x0)\n"
      "  queue 1 (pm4, gpu 0) would write it, but waits itself: RELEASE_MEM at dword 7 of the "
      "ring\n"
      "queue 3 (pm4, gpu 0): WAIT_REG_MEM at dword 0 of the ring waits for 0x7f0000000040 >= 1, "
      "which holds 0 (gtt 0x7f0000000000+0x1000 (handle 1) +0x40)\n"
      "  no queued packet writes it: the host must, or a kernel, or nobody will\n"
      "deadlock: queue 1 -> queue 2 -> queue 1\n");
}

TEST(StallReport, SeesWritersInIndirectBuffersAndFaultedQueues) {
  Machine machine;
  const uint64_t word = machine.allocate(4096);
  Client& waiter = machine.queue(QueueKind::Pm4);
  waiter.submit(Stream() << pm4::WaitRegMem(kFamily)
                                .mem_space(pm4::MemSpace::MEMORY_SPACE)
                                .function(pm4::Function::NOT_EQUAL_REFERENCE_VALUE)
                                .address(word)
                                .mask(0xff));
  const uint32_t one = 1;
  Stream inner, outer;
  inner << pm4::WriteData(kFamily)
               .dst_sel(pm4::WriteDst::TC_L2)
               .address(word)
               .payload(std::span(&one, 1));
  outer
      << pm4::Nop(kFamily)
      << pm4::IndirectBuffer(kFamily).ib_base(machine.place(inner.dwords())).ib_size(inner.size());
  Client& faulty = machine.queue(QueueKind::Pm4);
  faulty.submit(
      Stream()
      << pm4::DispatchIndirect(kFamily).address(0x1000)  // not mapped
      << pm4::IndirectBuffer(kFamily).ib_base(machine.place(outer.dwords())).ib_size(outer.size()));
  machine.run();
  const std::string report = machine.simulator.stall_report();
  EXPECT_THAT(report, HasSubstr("(under mask 0xff), which holds 0"));
  EXPECT_THAT(report, HasSubstr("queue 2 (pm4, gpu 0) would write it, but has faulted: WRITE_DATA "
                                "at dword 0 of the IB"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("deadlock")));
}

}  // namespace
}  // namespace doppel::emu::test
