// What every SDMA packet does, driven through a queue; and bad ones.
#include <gmock/gmock.h>

#include <numeric>

#include "core/prng.h"
#include "tests/emulator/machine.h"

namespace doppel::emu::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

class SdmaTest : public ::testing::Test {
 protected:
  void run(const Stream& stream) {
    queue_.submit(stream);
    machine_.run();
    ASSERT_THAT(machine_.sink.faults, IsEmpty()) << machine_.sink.faults[0].to_string();
    EXPECT_TRUE(machine_.simulator.idle()) << machine_.simulator.stall_report();
    EXPECT_EQ(queue_.read_pointer(), queue_.put * 4);
  }
  Fault fault_of(const Stream& stream) {
    queue_.submit(stream);
    machine_.run();
    EXPECT_EQ(machine_.sink.faults.size(), 1u);
    return machine_.sink.faults.empty() ? Fault{} : machine_.sink.faults[0];
  }
  static auto copy(uint64_t destination, uint64_t source, uint64_t bytes) {
    return sdma::CopyLinear(kFamily)
        .count(static_cast<uint32_t>(bytes - 1))
        .src_address(source)
        .dst_address(destination);
  }
  std::vector<std::byte> pattern(uint64_t va, uint64_t bytes, uint64_t seed = 1) {
    std::vector<std::byte> data(bytes);
    Prng prng(seed);
    for (auto& byte : data) byte = static_cast<std::byte>(prng.next());
    EXPECT_TRUE(machine_.vm.write(va, data));
    return data;
  }
  std::vector<std::byte> bytes(uint64_t va, uint64_t size) {
    std::vector<std::byte> data(size);
    EXPECT_TRUE(machine_.vm.read(va, data));
    return data;
  }

  Machine machine_;
  Client& queue_ = machine_.queue(QueueKind::Sdma, 65536);
  uint64_t data_ = machine_.allocate(1 << 20);
};

TEST_F(SdmaTest, CopiesOfAnySizeAndAlignment) {
  const uint64_t source = machine_.allocate(3 << 20), destination = machine_.allocate(3 << 20);
  for (uint64_t size : {1ul, 3ul, 4ul, 4095ul, 65537ul, (2ul << 20) + 13}) {
    const auto data = pattern(source + 5, size, size);
    run(Stream() << copy(destination + 3, source + 5, size));
    EXPECT_EQ(bytes(destination + 3, size), data) << size;
    EXPECT_EQ(machine_.peek<uint8_t>(destination + 3 + size), 0) << size;
  }
}

TEST_F(SdmaTest, CopiesAcrossExtents) {
  const uint64_t va = 0x100000;
  for (int page = 0; page < 4; ++page) machine_.map_at(va + page * 4096, 4096);
  const auto data = pattern(data_, 3 * 4096);
  run(Stream() << copy(va + 100, data_, 3 * 4096));
  EXPECT_EQ(bytes(va + 100, 3 * 4096), data);
}

TEST_F(SdmaTest, OverlappingCopiesGoForwards) {
  for (uint64_t distance : {1ul, 7ul, 64ul, 1000ul}) {
    auto expected = pattern(data_, 4096, distance);
    for (size_t i = 0; i < 2000; ++i) expected[distance + i] = expected[i];
    run(Stream() << copy(data_ + distance, data_, 2000));
    EXPECT_EQ(bytes(data_, 4096), expected) << "up by " << distance;
    for (size_t i = 0; i < 2000; ++i) expected[i] = expected[distance + i];
    run(Stream() << copy(data_, data_ + distance, 2000));
    EXPECT_EQ(bytes(data_, 4096), expected) << "down by " << distance;
  }
}

TEST_F(SdmaTest, BackwardsCopiesBeginAtTheEnd) {
  for (uint64_t distance : {1ul, 7ul, 1000ul}) {
    auto expected = pattern(data_, 4096, distance);
    for (size_t i = 2000; i-- > 0;) expected[distance + i] = expected[i];
    run(Stream() << copy(data_ + distance, data_, 2000).backwards(true));
    EXPECT_EQ(bytes(data_, 4096), expected) << "up by " << distance;
    for (size_t i = 2000; i-- > 0;) expected[i] = expected[distance + i];
    run(Stream() << copy(data_, data_ + distance, 2000).backwards(true));
    EXPECT_EQ(bytes(data_, 4096), expected) << "down by " << distance;
  }
}

TEST_F(SdmaTest, BigBackwardsCopyAcrossExtents) {
  const uint64_t va = 0x200000;
  for (int page = 0; page < 256; ++page) machine_.map_at(va + page * 4096, 4096);
  auto expected = pattern(va, 1 << 20);
  const size_t size = (1 << 20) - 4096;
  for (size_t i = size; i-- > 0;) expected[4000 + i] = expected[i];
  run(Stream() << copy(va + 4000, va, size).backwards(true));
  EXPECT_EQ(bytes(va, 1 << 20), expected);
}

TEST_F(SdmaTest, SubWindowMovesABoxOfElements) {
  const uint64_t source = data_, destination = data_ + (1 << 19);
  std::vector<uint32_t> image(16 * 8 * 4);
  std::iota(image.begin(), image.end(), 1u);
  ASSERT_TRUE(machine_.vm.write(source, std::as_bytes(std::span(image))));
  // A 5x3x2 box of dwords at (2,1,1) of a 16x8x4 image, to (1,2,0) of a 10x6 one.
  run(Stream() << sdma::CopyLinearSubwin(kFamily)
                      .elementsize(sdma::ElementSize::BYTES_4)
                      .src_address(source)
                      .src_x(2)
                      .src_y(1)
                      .src_z(1)
                      .src_pitch(15)
                      .src_slice_pitch(127)
                      .dst_address(destination)
                      .dst_x(1)
                      .dst_y(2)
                      .dst_z(0)
                      .dst_pitch(9)
                      .dst_slice_pitch(59)
                      .rect_x(4)
                      .rect_y(2)
                      .rect_z(1));
  std::vector<uint32_t> expected(10 * 6 * 2);
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 5; ++x)
        expected[z * 60 + (y + 2) * 10 + x + 1] = image[(z + 1) * 128 + (y + 1) * 16 + x + 2];
  std::vector<uint32_t> actual(expected.size());
  ASSERT_TRUE(machine_.vm.read(destination, std::as_writable_bytes(std::span(actual))));
  EXPECT_EQ(actual, expected);
}

TEST_F(SdmaTest, WriteStoresItsPayload) {
  std::vector<uint32_t> values(1000);
  std::iota(values.begin(), values.end(), 7u);
  run(Stream() << sdma::WriteLinear(kFamily).dst_address(data_ + 4).count(999).payload(values));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 0u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 4), 7u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 4 + 999 * 4), 1006u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 4 + 1000 * 4), 0u);
}

TEST_F(SdmaTest, FillRepeatsItsElement) {
  auto fill = [](uint64_t va, sdma::FillSize size, uint32_t value, uint32_t count) {
    return sdma::ConstantFill(kFamily).fillsize(size).dst_address(va).src_data(value).count(count);
  };
  run(Stream() << fill(data_ + 1, sdma::FillSize::BYTE, 0xddccbbaa, 4)
               << fill(data_ + 16, sdma::FillSize::HALF_DWORD, 0xddccbbaa, 4)
               << fill(data_ + 32, sdma::FillSize::DWORD, 0xddccbbaa, 4)
               << fill(data_ + 4096, sdma::FillSize::DWORD, 0x01020304, 500'000 - 4));
  EXPECT_EQ(machine_.peek<uint64_t>(data_), 0x0000aaaaaaaaaa00u);
  EXPECT_EQ(machine_.peek<uint64_t>(data_ + 16), 0x0000bbaabbaabbaau);
  EXPECT_EQ(machine_.peek<uint64_t>(data_ + 32), 0xddccbbaaddccbbaau);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 40), 0u);
  const auto filled = bytes(data_ + 4096, 500'001);
  for (size_t i = 0; i < 500'000; ++i) ASSERT_EQ(filled[i], std::byte(4 - i % 4)) << i;
  EXPECT_EQ(filled[500'000], std::byte{0});
}

TEST_F(SdmaTest, FenceWritesFourBytesAndTrapInterrupts) {
  machine_.poke<uint64_t>(data_, ~uint64_t{0});
  run(Stream() << sdma::Fence(kFamily).mtype(sdma::Mtype::UC).address(data_).data(5)
               << sdma::Trap(kFamily).int_context(17));
  EXPECT_EQ(machine_.peek<uint64_t>(data_), 0xffffffff'00000005u);
  EXPECT_THAT(machine_.sink.interrupts, ElementsAre(Pair(queue_.id(), 17)));
}

TEST_F(SdmaTest, PollWaitsForMemoryUnderItsMask) {
  struct Case {
    sdma::PollFunction function;
    uint32_t blocks, passes;
  };
  for (const Case& c :
       {Case{sdma::PollFunction::LESS, 5, 4}, Case{sdma::PollFunction::LESS_EQUAL, 6, 5},
        Case{sdma::PollFunction::EQUAL, 4, 5}, Case{sdma::PollFunction::NOT_EQUAL, 5, 6},
        Case{sdma::PollFunction::GREATER_EQUAL, 4, 5}, Case{sdma::PollFunction::GREATER, 5, 6}}) {
    machine_.poke<uint32_t>(data_, 0xff00 | c.blocks);
    machine_.poke<uint32_t>(data_ + 8, 0);
    queue_.submit(Stream() << sdma::PollRegmem(kFamily)
                                  .mem_poll(true)
                                  .func(c.function)
                                  .address(data_)
                                  .value(5)
                                  .mask(0xff)
                                  .interval(4)
                                  .retry_count(0xfff)
                           << sdma::Fence(kFamily).address(data_ + 8).data(1));
    machine_.run();
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8), 0u);
    machine_.poke<uint32_t>(data_, 0xff00 | c.passes);
    machine_.run();
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8), 1u);
  }
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(SdmaTest, PollThatWouldGiveUpIsRefusedUnlessItsConditionHolds) {
  const auto poll = sdma::PollRegmem(kFamily)
                        .mem_poll(true)
                        .func(sdma::PollFunction::EQUAL)
                        .address(data_)
                        .value(1)
                        .mask(~0u)
                        .retry_count(0xffe);
  machine_.poke<uint32_t>(data_, 1);
  run(Stream() << poll);
  machine_.poke<uint32_t>(data_, 0);
  const Fault fault = fault_of(Stream() << poll);
  EXPECT_EQ(fault.kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(fault.message, HasSubstr("retry_count 0xffe"));
}

TEST_F(SdmaTest, HdpFlushPassesAtOnce) {
  run(Stream().raw({0x8, 0, 0x80000000, 0, 0, 0}));  // what ROCr sends
  run(Stream() << sdma::PollRegmem(kFamily)
                      .hdp_flush(true)
                      .func(sdma::PollFunction::EQUAL)
                      .reg_poll_addr(0xe27 * 4)
                      .reg_write_addr(0xe26 * 4)
                      .value(0x400)
                      .mask(0x400));
}

TEST_F(SdmaTest, PollOfAnotherRegisterIsRefused) {
  const Fault fault = fault_of(Stream() << sdma::PollRegmem(kFamily)
                                               .func(sdma::PollFunction::EQUAL)
                                               .reg_poll_addr(0x1000)
                                               .value(1)
                                               .mask(1));
  EXPECT_EQ(fault.kind, FaultKind::UnsupportedPacket);
  EXPECT_THAT(fault.message, HasSubstr("0x1000"));
}

TEST_F(SdmaTest, AtomicsOfBothSizes) {
  machine_.poke<uint64_t>(data_, 1);
  machine_.poke<uint64_t>(data_ + 8, 0xffffffff'ffffffff);
  // What ROCr completes a copy with: add 64-bit -1 (op 47).
  run(Stream().raw({0x5e00000a, static_cast<uint32_t>(data_), static_cast<uint32_t>(data_ >> 32),
                    0xffffffff, 0xffffffff, 0, 0, 0})
      << sdma::Atomic(kFamily)
             .atomic_op(sdma::AtomicOp::TC_OP_ATOMIC_INC_32)
             .address(data_ + 8)
             .src_data(0xffffffff));
  EXPECT_EQ(machine_.peek<uint64_t>(data_), 0u);
  EXPECT_EQ(machine_.peek<uint64_t>(data_ + 8), 0xffffffff'00000000u);
}

TEST_F(SdmaTest, TimestampsAreTicksOf100MHz) {
  machine_.simulator.clock().advance_ns(1'000'000);
  run(Stream() << sdma::TimestampGetGlobal(kFamily).address(data_)
               << sdma::TimestampGet(kFamily).address(data_ + 8)
               << sdma::TimestampSet(kFamily).init_data(5)
               << sdma::TimestampGet(kFamily).address(data_ + 16));
  EXPECT_GE(machine_.peek<uint64_t>(data_), 100'000u);
  EXPECT_GE(machine_.peek<uint64_t>(data_ + 8), machine_.peek<uint64_t>(data_));
  EXPECT_LT(machine_.peek<uint64_t>(data_ + 16), 1000u);
  EXPECT_GE(machine_.peek<uint64_t>(data_ + 16), 5u);
}

TEST_F(SdmaTest, ConditionalExecutionSkips) {
  for (uint32_t value : {3u, 4u}) {
    machine_.poke<uint32_t>(data_, value);
    machine_.poke<uint64_t>(data_ + 8, 0);
    run(Stream() << sdma::CondExe(kFamily).address(data_).reference(4).exec_count(4)
                 << sdma::Fence(kFamily).address(data_ + 8).data(1)
                 << sdma::Fence(kFamily).address(data_ + 12).data(1));
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8), value == 4 ? 1u : 0u);
    EXPECT_EQ(machine_.peek<uint32_t>(data_ + 12), 1u);
  }
}

TEST_F(SdmaTest, IndirectBuffersAndFillers) {
  Stream inner;
  inner << sdma::Fence(kFamily).address(data_).data(1);
  inner.raw({0x00030000, 0xdead, 0xbeef, 0xf00d});  // NOP that skips three dwords
  inner << sdma::Fence(kFamily).address(data_ + 4).data(2);
  const uint64_t base = machine_.place(inner.dwords());
  run(Stream() << sdma::Indirect(kFamily).ib_base(base).ib_size(inner.size())
               << sdma::GcrReq(kFamily).gcr_gl2_wb(true) << sdma::Nop(kFamily)
               << sdma::Fence(kFamily).address(data_ + 8).data(3));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 1u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 4), 2u);
  EXPECT_EQ(machine_.peek<uint32_t>(data_ + 8), 3u);
}

TEST_F(SdmaTest, CacheRequestsOfBothSubOpsPass) {
  Stream stream;
  stream.raw({0x00000011, 0, 0x0000c3e0, 0, 0});  // as tinygrad writes it
  stream.raw({0x00000111, 0, 0x0000c3e0, 0, 0});  // as ROCr does: SDMA_SUBOP_USER_GCR
  run(stream << sdma::Fence(kFamily).address(data_).data(1));
  EXPECT_EQ(machine_.peek<uint32_t>(data_), 1u);
}

TEST_F(SdmaTest, OtherQueuesGoOnDuringABigCopy) {
  const uint64_t big = machine_.allocate(16 << 20);
  Client& other = machine_.queue(QueueKind::Sdma);
  queue_.submit(Stream() << copy(big + (8 << 20), big, 8 << 20));
  machine_.simulator.step();
  other.submit(Stream() << sdma::Fence(kFamily).address(data_).data(1));
  int steps = 0;
  while (machine_.peek<uint32_t>(data_) == 0 && machine_.simulator.step()) ++steps;
  EXPECT_FALSE(machine_.simulator.idle()) << "the copy was over first";
  EXPECT_LT(steps, 30);
  machine_.run();
  EXPECT_TRUE(machine_.simulator.idle());
}

TEST_F(SdmaTest, CopyThatRunsIntoAHoleNamesIt) {
  const uint64_t small = machine_.allocate(4096);
  const Fault fault = fault_of(Stream() << sdma::Nop(kFamily) << copy(small, data_, 8192));
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(fault.address, small + 4096);
  EXPECT_TRUE(fault.is_write);
  EXPECT_EQ(fault.packet_offset, 1u);
  EXPECT_THAT(fault.packet, StartsWith("COPY_LINEAR"));
}

TEST_F(SdmaTest, CopyToReadOnlyMemory) {
  const uint64_t read_only = machine_.allocate(4096, 1);
  EXPECT_EQ(fault_of(Stream() << copy(read_only, data_, 64)).kind, FaultKind::PermissionDenied);
}

TEST_F(SdmaTest, SubWindowsThatWrapTheAddressSpaceFault) {
  const Fault fault = fault_of(Stream() << sdma::CopyLinearSubwin(kFamily)
                                               .src_address(~uint64_t{0})
                                               .src_x(16383)
                                               .src_pitch((1 << 19) - 1)
                                               .src_slice_pitch((1 << 28) - 1)
                                               .dst_address(data_)
                                               .rect_x(16383)
                                               .rect_y(16383)
                                               .rect_z(8191));
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
}

struct BadCase {
  const char* what;
  std::vector<uint32_t> dwords;
  FaultKind kind;
};

class BadSdmaTest : public SdmaTest, public ::testing::WithParamInterface<BadCase> {};

TEST_P(BadSdmaTest, FaultsByName) {
  queue_.submit(std::span(GetParam().dwords));
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u) << machine_.simulator.stall_report();
  EXPECT_EQ(machine_.sink.faults[0].kind, GetParam().kind) << machine_.sink.faults[0].to_string();
  EXPECT_EQ(machine_.sink.faults[0].queue, queue_.id());
}

INSTANTIATE_TEST_SUITE_P(
    Packets, BadSdmaTest,
    ::testing::Values(
        BadCase{"unknown op", {0x000000ff}, FaultKind::BadPacket},
        BadCase{"PTEPDE", {0x0000000c}, FaultKind::UnsupportedPacket},
        BadCase{"tiled copy", {0x00000101}, FaultKind::UnsupportedPacket},
        BadCase{"broadcast", {0x08000001, 0, 0, 0, 0, 0, 0}, FaultKind::UnsupportedPacket},
        BadCase{"swap", {0x00000001, 0, 0x10000, 0, 0, 0, 0}, FaultKind::UnsupportedPacket},
        BadCase{"compare 7", {0xf0000008, 0, 0, 0, 0, 0}, FaultKind::BadPacket},
        BadCase{"fill size 3", {0xc000000b, 0, 0, 0, 0}, FaultKind::BadPacket},
        BadCase{"fill misaligned", {0x8000000b, 2, 0, 0, 0}, FaultKind::UnmappedAccess},
        BadCase{"fence to a hole", {0x5, 0x1000, 0, 0}, FaultKind::UnmappedAccess},
        BadCase{"atomic op 1", {0x0200000a, 0, 0, 0, 0, 0, 0, 0}, FaultKind::UnsupportedPacket},
        BadCase{"IB not aligned", {0x4, 0x1004, 0, 8, 0, 0}, FaultKind::Misaligned},
        BadCase{"IB in a hole", {0x4, 0x1000, 0, 8, 0, 0}, FaultKind::UnmappedAccess}),
    [](const auto& info) {
      std::string name = info.param.what;
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

TEST_F(SdmaTest, IbsDoNotNest) {
  Stream inner;
  inner << sdma::Indirect(kFamily).ib_base(data_).ib_size(8);
  const uint64_t base = machine_.place(inner.dwords());
  const Fault fault =
      fault_of(Stream() << sdma::Indirect(kFamily).ib_base(base).ib_size(inner.size()));
  EXPECT_THAT(fault.message, HasSubstr("nested too deep"));
}

TEST_F(SdmaTest, WriteLongerThanTheRing) {
  const Fault fault = fault_of(Stream().raw({0x2, static_cast<uint32_t>(data_), 0x7f00, 0xfffff}));
  EXPECT_EQ(fault.kind, FaultKind::BadPacket);
  EXPECT_THAT(fault.message, HasSubstr("longer than the ring"));
}

TEST_F(SdmaTest, WritePointerInHalfADword) {
  queue_.doorbell = 6;
  machine_.run();
  ASSERT_EQ(machine_.sink.faults.size(), 1u);
  EXPECT_EQ(machine_.sink.faults[0].kind, FaultKind::Misaligned);
}

}  // namespace
}  // namespace doppel::emu::test
