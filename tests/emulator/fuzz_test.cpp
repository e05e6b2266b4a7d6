// Valid streams with dwords changed at random: whatever they become, the host survives, the machine
// comes to rest, and another queue still works. A failure prints the seed that replays it.
#include <gmock/gmock.h>

#include "core/prng.h"
#include "tests/emulator/kernels.h"

namespace doppel::emu::test {
namespace {

constexpr uint64_t kSeeds = 1500;
constexpr uint64_t kInstructionBudget = 100'000;  // of a grid that the mutation made huge

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : prng_(seed) {}

  void mutate(std::vector<uint32_t>& dwords) {
    for (uint64_t i = 1 + prng_.below(4); i > 0 && !dwords.empty(); --i) {
      const size_t at = prng_.below(dwords.size());
      switch (prng_.below(5)) {
        case 0:
          dwords[at] ^= 1u << prng_.below(32);
          break;
        case 1:
          dwords[at] = static_cast<uint32_t>(prng_.next());
          break;
        case 2:
          dwords.erase(dwords.begin() + static_cast<ptrdiff_t>(at));
          break;
        case 3:
          dwords.insert(dwords.begin() + static_cast<ptrdiff_t>(at),
                        dwords[prng_.below(dwords.size())]);
          break;
        default:
          dwords[at] = prng_.below(2) ? 0 : ~0u;
          break;
      }
    }
  }
  Prng& prng() { return prng_; }

 private:
  Prng prng_;
};

Stream pm4_stream(Machine& machine, uint64_t data) {
  const uint32_t values[] = {1, 2, 3, 4};
  Stream inner, chained;
  chained << pm4::WriteData(kFamily).dst_sel(pm4::WriteDst::TC_L2).address(data).payload(values);
  inner << pm4::CondExec(kFamily).address(data + 64).exec_count(9)
        << pm4::AtomicMem(kFamily)
               .atomic(pm4::AtomicOp::TC_OP_ATOMIC_ADD_64)
               .address(data + 72)
               .src_data(1)
        << pm4::IndirectBuffer(kFamily)
               .ib_base(machine.place(chained.dwords()))
               .ib_size(chained.size())
               .chain(true);
  Stream stream;
  stream
      << pm4::SetShReg(kFamily).reg_offset(0x240).payload(values)
      << pm4::WaitRegMem(kFamily)
             .mem_space(pm4::MemSpace::MEMORY_SPACE)
             .function(pm4::Function::LESS_THAN_EQUAL_TO_THE_REF_VALUE)
             .address(data)
             .reference(100)
             .mask(~0u)
      << pm4::AcquireMem(kFamily)
      << pm4::CopyData(kFamily)
             .src_sel(pm4::CopySrc::GPU_CLOCK_COUNT)
             .dst_sel(pm4::CopyDst::TC_L2)
             .count_sel(true)
             .dst_address(data + 128)
      << pm4::IndirectBuffer(kFamily).ib_base(machine.place(inner.dwords())).ib_size(inner.size())
      << pm4::PredExec(kFamily).device_select(1).exec_count(4)
      << pm4::DispatchIndirect(kFamily).address(data + 256).initiator(0x8005)
      << pm4::DispatchDirect(kFamily).dim_x(1).dim_y(1).dim_z(1).initiator(0x8005)
      << pm4::EventWrite(kFamily)
             .event_type(pm4::EventType::CS_PARTIAL_FLUSH)
             .event_index(pm4::EventIndex::CS_PARTIAL_FLUSH)
      << pm4::ReleaseMem(kFamily)
             .event_index(pm4::ReleaseIndex::END_OF_PIPE)
             .data_sel(pm4::DataSel::SEND_64_BIT_DATA)
             .int_sel(pm4::IntSel::SEND_INTERRUPT_AFTER_WRITE_CONFIRM)
             .address(data + 136)
             .data(7)
             .int_ctxid(3);
  // A dispatch first, so that mutated registers reach the dispatcher.
  Stream dispatch = pm4_dispatch(place_program(machine, kStoreIdKernel), data + 512, 2, 40);
  stream.dwords().insert(stream.dwords().begin(), dispatch.dwords().begin(),
                         dispatch.dwords().end());
  return stream;
}

Stream sdma_stream(Machine& machine, uint64_t data) {
  const uint32_t values[] = {1, 2, 3, 4};
  Stream inner;
  inner << sdma::Fence(kFamily).address(data + 64).data(3);
  Stream stream;
  stream << sdma::CopyLinear(kFamily).count(4095).src_address(data).dst_address(data + 4096)
         << sdma::CopyLinearSubwin(kFamily)
                .elementsize(sdma::ElementSize::BYTES_4)
                .src_address(data)
                .src_pitch(15)
                .src_slice_pitch(63)
                .dst_address(data + 8192)
                .dst_pitch(15)
                .dst_slice_pitch(63)
                .rect_x(7)
                .rect_y(3)
         << sdma::WriteLinear(kFamily).dst_address(data).count(3).payload(values)
         << sdma::ConstantFill(kFamily)
                .fillsize(sdma::FillSize::DWORD)
                .dst_address(data + 256)
                .src_data(9)
                .count(252)
         << sdma::PollRegmem(kFamily).mem_poll(true).address(data).mask(0)
         << sdma::Atomic(kFamily)
                .atomic_op(sdma::AtomicOp::TC_OP_ATOMIC_ADD_64)
                .address(data + 8)
                .src_data(1)
         << sdma::CondExe(kFamily).address(data + 512).reference(9).exec_count(4)
         << sdma::Fence(kFamily).address(data + 16).data(1)
         << sdma::TimestampGetGlobal(kFamily).address(data + 24) << sdma::GcrReq(kFamily)
         << sdma::Indirect(kFamily).ib_base(machine.place(inner.dwords())).ib_size(inner.size())
         << sdma::Trap(kFamily).int_context(4);
  return stream;
}

Stream aql_stream(Machine& machine, uint64_t data) {
  Stream inner;
  inner << pm4::AcquireMem(kFamily);
  Stream stream;
  stream << aql::BarrierAnd(kFamily).dep_signal0(data).completion_signal(data + 64)
         << aql::VendorPm4Ib(kFamily)
                .ib_header(0xc0023f00)
                .ib_base(machine.place(inner.dwords()))
                .ib_control(inner.size())
         << aql::BarrierOr(kFamily).barrier(true).dep_signal2(data)
         << aql::VendorBarrierValue(kFamily).signal(data).mask(~uint64_t{0})
         << aql::KernelDispatch(kFamily)
                .dimensions(1)
                .workgroup_size_x(64)
                .workgroup_size_y(1)
                .workgroup_size_z(1)
                .grid_size_x(64)
                .grid_size_y(1)
                .grid_size_z(1)
                .kernel_object(place_program(machine, kStoreIdKernel).descriptor)
                .kernarg_address(data + 512)
                .completion_signal(data + 64);
  return stream;
}

class FuzzTest : public ::testing::TestWithParam<QueueKind> {};

TEST_P(FuzzTest, NoStreamHurtsTheMachine) {
  uint64_t faults = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Mutator mutator(seed);
    Machine machine(seed, kInstructionBudget);
    const uint64_t data = machine.allocate(3 * 4096);
    Client& queue = machine.queue(GetParam());
    auto make = [&] {
      if (GetParam() == QueueKind::Pm4) return pm4_stream(machine, data);
      if (GetParam() == QueueKind::Sdma) return sdma_stream(machine, data);
      return aql_stream(machine, data);
    };
    Stream stream = make();
    mutator.mutate(stream.dwords());
    if (GetParam() == QueueKind::Aql) stream.dwords().resize(5 * 16);
    queue.submit(stream);
    machine.run();
    faults += machine.sink.faults.size();
    for (const Fault& fault : machine.sink.faults) {
      ASSERT_FALSE(fault.message.empty());
      ASSERT_EQ(fault.queue, queue.id());
      ASSERT_TRUE(fault.packet_offset.has_value());
    }
    ASSERT_EQ(machine.simulator.idle(), machine.simulator.stall_report().empty());
    Client& other = machine.queue(QueueKind::Sdma);
    const uint64_t word = machine.allocate(4096);
    other.submit(Stream() << sdma::Fence(kFamily).address(word).data(0x600d));
    machine.run();
    ASSERT_EQ(machine.peek<uint32_t>(word), 0x600du);
  }
  EXPECT_GT(faults, kSeeds / 4) << "the mutations hurt nothing";
}

INSTANTIATE_TEST_SUITE_P(Queues, FuzzTest,
                         ::testing::Values(QueueKind::Pm4, QueueKind::Sdma, QueueKind::Aql),
                         [](const auto& info) {
                           return info.param == QueueKind::Pm4    ? "Pm4"
                                  : info.param == QueueKind::Sdma ? "Sdma"
                                                                  : "Aql";
                         });

}  // namespace
}  // namespace doppel::emu::test
