// What every PM4 packet does, driven through a queue.
#include <gmock/gmock.h>

#include "core/packets/registers.h"
#include "tests/emulator/machine.h"

namespace doppel::emu::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

class Pm4Test : public ::testing::Test {
 protected:
  /// Submits the stream, and expects it to be carried out to the end.
  void run(const Stream& stream) {
    queue_.submit(stream);
    machine_.run();
    ASSERT_THAT(machine_.sink.faults, IsEmpty()) << machine_.sink.faults[0].to_string();
    ASSERT_EQ(machine_.simulator.stall_report(), "");
    EXPECT_EQ(queue_.read_pointer(), queue_.put);
    EXPECT_TRUE(machine_.simulator.idle());
  }
  /// Submits the stream, and returns the fault that it ends with.
  Fault fault(const Stream& stream) {
    queue_.submit(stream);
    machine_.run();
    EXPECT_EQ(machine_.sink.faults.size(), 1u);
    return machine_.sink.faults.empty() ? Fault{} : machine_.sink.faults[0];
  }
  auto write(uint64_t va, std::span<const uint32_t> values, bool stay = false) {
    return pm4::WriteData(kFamily)
        .dst_sel(pm4::WriteDst::MEMORY)
        .wr_confirm(true)
        .addr_incr(stay)
        .address(va)
        .payload(values);
  }
  auto wait(uint64_t va, pm4::Function function, uint32_t reference, uint32_t mask = ~0u) {
    return pm4::WaitRegMem(kFamily)
        .mem_space(pm4::MemSpace::MEMORY_SPACE)
        .function(function)
        .address(va)
        .reference(reference)
        .mask(mask);
  }
  auto release(uint64_t va, pm4::DataSel data_sel, uint64_t data) {
    return pm4::ReleaseMem(kFamily)
        .event_type(pm4::EventType::CACHE_FLUSH_AND_INV_TS_EVENT)
        .event_index(pm4::ReleaseIndex::END_OF_PIPE)
        .data_sel(data_sel)
        .address(va)
        .data(data);
  }

  Machine machine_;
  Client& queue_ = machine_.queue(QueueKind::Pm4);
  uint64_t data_ = machine_.allocate(4096);
};

TEST_F(Pm4Test, WriteDataStoresItsDwords) {
  const uint32_t values[] = {1, 2, 3};
  run(Stream() << write(data_ + 4, values));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 0u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 4), 1u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 12), 3u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 16), 0u);
}

TEST_F(Pm4Test, WriteDataMayStayAtOneAddress) {
  const uint32_t values[] = {1, 2, 3};
  run(Stream() << write(data_, values, true));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 3u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 4), 0u);
}

TEST_F(Pm4Test, WriteDataLongerThanAFirstLookAtThePacket) {
  std::vector<uint32_t> values(300);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = i * 7;
  run(Stream() << write(data_, values));
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 299 * 4), 299u * 7);
}

TEST_F(Pm4Test, ReleaseMemWritesExactlyItsWord) {
  machine_.poke<uint64_t>(data_, ~uint64_t{0});
  machine_.poke<uint64_t>(data_ + 8, ~uint64_t{0});
  run(Stream() << release(data_, pm4::DataSel::SEND_32_BIT_LOW, 0x1'0000'0005)
               << release(data_ + 8, pm4::DataSel::SEND_64_BIT_DATA, 0x1'0000'0006));
  EXPECT_EQ(machine_.peek<uint64_t>(data_), 0xffffffff'00000005);
  EXPECT_EQ(machine_.peek<uint64_t>(data_ + 8), 0x1'0000'0006u);
  EXPECT_THAT(machine_.sink.interrupts, IsEmpty());
}

TEST_F(Pm4Test, ReleaseMemInterruptsWithItsContext) {
  run(Stream() << release(data_, pm4::DataSel::SEND_32_BIT_LOW, 1)
                      .int_sel(pm4::IntSel::SEND_INTERRUPT_AFTER_WRITE_CONFIRM)
                      .int_ctxid(42)
               << release(data_, pm4::DataSel::NONE, 0)
                      .int_sel(pm4::IntSel::SEND_INTERRUPT_ONLY)
                      .int_ctxid(43));
  EXPECT_THAT(machine_.sink.interrupts, ElementsAre(Pair(queue_.id(), 42), Pair(queue_.id(), 43)));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 1u);
}

TEST_F(Pm4Test, ReleaseMemTimestampsNeverGoBack) {
  machine_.simulator.clock().advance_ns(1'000'000);
  run(Stream() << release(data_, pm4::DataSel::SEND_GPU_CLOCK_COUNTER, 0)
               << release(data_ + 8, pm4::DataSel::SEND_SYSTEM_CLOCK_COUNTER, 0));
  EXPECT_GE(machine_.peek<uint64_t>(data_), gpu_ticks(1'000'000));
  EXPECT_GE(machine_.peek<uint64_t>(data_ + 8), machine_.peek<uint64_t>(data_));
}

TEST_F(Pm4Test, ReleaseMemAdds) {
  machine_.poke<uint32_t>(data_, 5);
  run(Stream() << release(data_, pm4::DataSel::ATOMIC_ADD32BIT_LOW, 3));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 8u);
}

struct CompareCase {
  pm4::Function function;
  bool less, equal, greater;  // whether it passes when the value is so to the reference
};

class CompareTest : public Pm4Test, public ::testing::WithParamInterface<CompareCase> {};

TEST_P(CompareTest, PassesAtOnceOrWhenTheValueChanges) {
  const CompareCase& c = GetParam();
  const std::pair<uint32_t, bool> values[] = {{4, c.less}, {5, c.equal}, {0xfffffff0, c.greater}};
  for (const auto& [value, passes] : values) {
    Client& queue = machine_.queue(QueueKind::Pm4);
    const uint32_t marker = value;
    machine_.poke<uint32_t>(data_, value);
    machine_.poke<uint32_t>(data_ + 8, 0);
    queue.submit(Stream() << wait(data_, c.function, 5) << write(data_ + 8, std::span(&marker, 1)));
    machine_.run();
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8) == marker, passes) << value;
    EXPECT_EQ(machine_.simulator.idle(), passes) << value;
    for (uint32_t other : {4u, 5u, 0xfffffff0u}) {  // one of them passes any function
      machine_.poke<uint32_t>(data_, other);
      machine_.run();
    }
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8), marker) << value;
    EXPECT_TRUE(machine_.simulator.idle());
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryFunction, CompareTest,
    ::testing::Values(
        CompareCase{pm4::Function::ALWAYS_PASS, true, true, true},
        CompareCase{pm4::Function::LESS_THAN_REF_VALUE, true, false, false},
        CompareCase{pm4::Function::LESS_THAN_EQUAL_TO_THE_REF_VALUE, true, true, false},
        CompareCase{pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE, false, true, false},
        CompareCase{pm4::Function::NOT_EQUAL_REFERENCE_VALUE, true, false, true},
        CompareCase{pm4::Function::GREATER_THAN_OR_EQUAL_REFERENCE_VALUE, false, true, true},
        CompareCase{pm4::Function::GREATER_THAN_REFERENCE_VALUE, false, false, true}));

TEST_F(Pm4Test, WaitComparesUnderItsMask) {
  machine_.poke<uint32_t>(data_, 0xabcd0005);
  run(Stream() << wait(data_, pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE, 5, 0xffff));
}

TEST_F(Pm4Test, HdpFlushHandshakePassesAtOnce) {
  // What both generations of tinygrad send.
  run(Stream()
          .raw({0xc0053c00, 0x45, 0xe26, 0xe27, 0xffffffff, 0xffffffff, 4})
          .raw({0xc0053c00, 0x43, 0xe26, 0xe27, 0xffffffff, 0xffffffff, 0x20}));
}

TEST_F(Pm4Test, WaitOnARegisterComparesWhatWasWritten) {
  const uint32_t offset = regs::sh_offset(regs::COMPUTE_USER_DATA_0, kFamily);
  const uint32_t value = 77;
  run(Stream() << pm4::SetShReg(kFamily).reg_offset(offset).payload(std::span(&value, 1))
               << pm4::WaitRegMem(kFamily)
                      .function(pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE)
                      .reg_poll_addr(regs::COMPUTE_USER_DATA_0.in(kFamily))
                      .reference(77)
                      .mask(~0u));
}

TEST_F(Pm4Test, CopyDataMovesMemoryRegistersImmediatesAndTime) {
  machine_.poke<uint64_t>(data_, 0x1122334455667788);
  const uint32_t reg = regs::COMPUTE_USER_DATA_0.in(kFamily);
  auto copy = [] { return pm4::CopyData(kFamily).count_sel(true); };
  machine_.simulator.clock().advance_ns(5000);
  run(Stream() << copy()
                      .src_sel(pm4::CopySrc::TC_L2)
                      .src_address(data_)
                      .dst_sel(pm4::CopyDst::MEM_MAPPED_REGISTER)
                      .dst_reg_offset(reg)
               << copy()
                      .src_sel(pm4::CopySrc::MEM_MAPPED_REGISTER)
                      .src_reg_offset(reg)
                      .dst_sel(pm4::CopyDst::TC_L2)
                      .dst_address(data_ + 8)
               << copy()
                      .src_sel(pm4::CopySrc::IMMEDIATE_DATA)
                      .imm_data(0xdead'beef'0000'0001)
                      .count_sel(false)
                      .dst_sel(pm4::CopyDst::MEMORY)
                      .dst_address(data_ + 16)
               << copy()
                      .src_sel(pm4::CopySrc::GPU_CLOCK_COUNT)
                      .dst_sel(pm4::CopyDst::TC_L2)
                      .dst_address(data_ + 24));
  EXPECT_EQ(machine_.peek<uint64_t>(data_ + 8), 0x1122334455667788u);
  EXPECT_EQ(machine_.peek<uint64_t>(data_ + 16), 1u);  // 32 bits only
  EXPECT_GE(machine_.peek<uint64_t>(data_ + 24), gpu_ticks(5000));
}

TEST_F(Pm4Test, AtomicMemReturnsTheOldValueToCopyData) {
  machine_.poke<uint64_t>(data_, 40);
  run(Stream() << pm4::AtomicMem(kFamily)
                      .atomic(pm4::AtomicOp::TC_OP_ATOMIC_ADD_RTN_64)
                      .address(data_)
                      .src_data(2)
               << pm4::CopyData(kFamily)
                      .src_sel(pm4::CopySrc::ATOMIC_RETURN_DATA)
                      .dst_sel(pm4::CopyDst::TC_L2)
                      .dst_address(data_ + 8));
  EXPECT_EQ(machine_.peek<uint64_t>(data_), 42u);
  EXPECT_EQ(machine_.peek<uint64_t>(data_ + 8), 40u);
}

TEST_F(Pm4Test, AtomicMemLoopsUntilTheCompareIsSatisfied) {
  machine_.poke<uint32_t>(data_, 1);
  queue_.submit(Stream() << pm4::AtomicMem(kFamily)
                                .atomic(pm4::AtomicOp::TC_OP_ATOMIC_CMPSWAP_RTN_32)
                                .command(pm4::AtomicCommand::LOOP_UNTIL_COMPARE_SATISFIED)
                                .address(data_)
                                .src_data(9)
                                .cmp_data(0));
  machine_.run();
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 1u);
  EXPECT_FALSE(machine_.simulator.idle());
  machine_.poke<uint32_t>(data_, 0);
  machine_.run();
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 9u);
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(Pm4Test, CondExecSkipsWhenTheConditionIsZero) {
  const uint32_t one = 1;
  for (uint32_t condition : {0u, 1u}) {
    machine_.poke<uint32_t>(data_, condition);
    machine_.poke<uint64_t>(data_ + 8, 0);
    run(Stream() << pm4::CondExec(kFamily).address(data_).exec_count(5)
                 << write(data_ + 8, std::span(&one, 1)) << write(data_ + 12, std::span(&one, 1)));
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8), condition);
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 12), 1u);
  }
}

TEST_F(Pm4Test, SkippingGoesOnWithDwordsSubmittedLater) {
  const uint32_t one = 1;
  run(Stream() << pm4::CondExec(kFamily).address(data_).exec_count(5));
  run(Stream() << write(data_ + 8, std::span(&one, 1)));
  run(Stream() << write(data_ + 12, std::span(&one, 1)));
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8), 0u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 12), 1u);
}

TEST_F(Pm4Test, PredExecIsForDieZero) {
  const uint32_t one = 1;
  run(Stream() << pm4::PredExec(kFamily).device_select(2).exec_count(5)
               << write(data_, std::span(&one, 1))
               << pm4::PredExec(kFamily).device_select(1).exec_count(5)
               << write(data_ + 4, std::span(&one, 1)));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 0u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 4), 1u);
}

TEST_F(Pm4Test, PacketsWithoutEffectPass) {
  run(Stream() << pm4::Nop(kFamily) << pm4::AcquireMem(kFamily).gcr_gl2_inv(true)
               << pm4::EventWrite(kFamily)
                      .event_type(pm4::EventType::CS_PARTIAL_FLUSH)
                      .event_index(pm4::EventIndex::CS_PARTIAL_FLUSH));
}

}  // namespace
}  // namespace doppel::emu::test
