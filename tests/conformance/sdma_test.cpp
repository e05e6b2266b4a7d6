// The SDMA engine: copies, fills and writes of every length, and rings that wrap.
#include "tests/conformance/conformance.h"

namespace doppel::conformance {
namespace {

class SdmaTest : public ConformanceTest {};

TEST_F(SdmaTest, CopiesBetweenAllDomains) {
  const auto data = pattern(3000);
  const MemoryDomain domains[] = {MemoryDomain::Vram, MemoryDomain::Gtt, MemoryDomain::Host};
  for (MemoryDomain from : domains) {
    for (MemoryDomain to : domains) {
      const Allocation source = upload(data, {.domain = from});
      const Allocation destination = allocate(data.size() * 4, {.domain = to});
      EXPECT_OK(gpu().sdma().copy(source, destination).submit());
      EXPECT_OK(gpu().synchronize());
      EXPECT_EQ(download<uint32_t>(destination), data) << to_string(from) << to_string(to);
    }
  }
}

TEST_F(SdmaTest, CopiesOfOddSizesAndOffsetsTouchNothingElse) {
  std::vector<uint8_t> data(5000);
  for (size_t at = 0; at < data.size(); ++at) data[at] = static_cast<uint8_t>(at * 7 + 1);
  const Allocation source = upload(data, {.domain = MemoryDomain::Gtt});
  const Allocation destination = allocate(5000, {.domain = MemoryDomain::Gtt});
  for (uint64_t bytes : {1u, 2u, 3u, 5u, 63u, 64u, 65u, 1021u, 4096u}) {
    for (uint64_t offset : {0u, 1u, 7u, 129u}) {
      const auto target = destination.host_as<uint8_t>();
      std::ranges::fill(target, 0xee);
      EXPECT_OK(gpu()
                    .sdma()
                    .copy(*source.slice(offset + 3, bytes), *destination.slice(offset, bytes))
                    .submit());
      EXPECT_OK(gpu().synchronize());
      for (uint64_t at = 0; at < target.size(); ++at) {
        const bool inside = at >= offset && at < offset + bytes;
        ASSERT_EQ(target[at], inside ? data[at + 3] : 0xee) << bytes << " bytes, at " << at;
      }
    }
  }
}

/// A packet moves at most 4 MiB: longer copies and fills are several packets.
TEST_F(SdmaTest, LongTransfersAreSplit) {
  const uint64_t bytes = (uint64_t{13} << 20) + 4;
  const auto data = pattern(bytes / 4);
  const Allocation source = upload(data);
  const Allocation destination = allocate(bytes);
  auto commands = gpu().sdma();
  commands.copy(source, destination);
  EXPECT_GE(commands.stream().packet_starts().size(), 4u);
  EXPECT_OK(commands.submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<uint32_t>(destination), data);

  EXPECT_OK(gpu().sdma().fill(destination, 0x01020304).submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<uint32_t>(destination), std::vector<uint32_t>(bytes / 4, 0x01020304));
}

TEST_F(SdmaTest, FillsOnlyItsRange) {
  const Allocation memory = upload(std::vector<uint32_t>(64, 1));
  EXPECT_OK(gpu().sdma().fill(*memory.slice(16, 32), 0xabcdef01).submit());
  EXPECT_OK(gpu().synchronize());
  const auto values = download<uint32_t>(memory);
  for (size_t at = 0; at < 64; ++at) {
    EXPECT_EQ(values[at], at >= 4 && at < 12 ? 0xabcdef01 : 1) << at;
  }
}

TEST_F(SdmaTest, WritesCarryTheirData) {
  const auto data = pattern(300);
  const Allocation memory = allocate(4096);
  EXPECT_OK(gpu().sdma().fill(memory, 0).write(*memory.slice(8, 1200), data).submit());
  EXPECT_OK(gpu().synchronize());
  const auto values = download<uint32_t>(memory);
  EXPECT_EQ(values[1], 0u);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), values.begin() + 2));
  EXPECT_EQ(values[302], 0u);
}

TEST_F(SdmaTest, CommandsOfOneRecordingRunInOrder) {
  const Allocation memory = allocate(4096);
  const Allocation copy = allocate(4096);
  EXPECT_OK(
      gpu().sdma().fill(memory, 1).fill(memory, 2).copy(memory, copy).fill(memory, 3).submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<uint32_t>(copy), std::vector<uint32_t>(1024, 2));
  EXPECT_EQ(download<uint32_t>(memory), std::vector<uint32_t>(1024, 3));
}

/// The ring holds a few hundred dwords; thousands of packets of different lengths pass through it.
TEST_F(SdmaTest, RingWrapsWithoutSplittingAPacket) {
  const auto queue = make_queue({.kind = QueueKind::Sdma, .ring_bytes = 4096});
  ASSERT_NE(queue, nullptr);
  const Allocation memory = allocate(64, {.domain = MemoryDomain::Gtt});
  const auto values = memory.host_as<uint32_t>();
  for (uint32_t round = 0; round < 1500; ++round) {
    SdmaCommands commands(*queue);
    commands.fill(*memory.slice(0, 4), round);
    if (round % 2 == 0) commands.copy(*memory.slice(0, 4), *memory.slice(8, 4));
    if (round % 3 == 0) {
      const auto data = pattern(1 + round % 9, round);
      commands.write(*memory.slice(16, data.size() * 4), data);
    }
    ASSERT_OK(commands.submit());
    if (round % 100 != 99) continue;
    ASSERT_OK(queue->synchronize());
    ASSERT_EQ(values[0], round);
    ASSERT_EQ(values[2], round / 2 * 2);
  }
  EXPECT_OK(queue->synchronize());
  EXPECT_EQ(queue->submitted(), 1500u);
  EXPECT_EQ(queue->retired(), 1500u);
}

TEST_F(SdmaTest, SubmissionThatNoRingHoldsIsRefused) {
  const auto queue = make_queue({.kind = QueueKind::Sdma, .ring_bytes = 4096});
  ASSERT_NE(queue, nullptr);
  const Allocation memory = allocate(8192);
  const auto data = pattern(1500);
  EXPECT_ERROR(SdmaCommands(*queue).write(memory, data).submit(), StatusCode::OutOfRange,
               "longer than the sdma queue's ring");
  EXPECT_OK(SdmaCommands(*queue).fill(memory, 5).submit());
  EXPECT_OK(queue->synchronize());
  EXPECT_EQ(download<uint32_t>(memory)[0], 5u);
}

TEST_F(SdmaTest, SecondEngineQueuesWorkSideBySide) {
  const auto first = make_queue({.kind = QueueKind::Sdma});
  const auto second = make_queue({.kind = QueueKind::Sdma});
  ASSERT_TRUE(first && second);
  const auto data = pattern(100000);
  const Allocation source = upload(data), middle = allocate(400000), end = allocate(400000);
  const Signal done = make_signal();
  // The consumer is submitted first.
  EXPECT_OK(SdmaCommands(*second).wait(done, 1).copy(middle, end).signal(done, 2).submit());
  EXPECT_OK(SdmaCommands(*first).copy(source, middle).signal(done, 1).submit());
  EXPECT_OK(done.wait(2));
  EXPECT_EQ(download<uint32_t>(end), data);
}

TEST_F(SdmaTest, BadCommandsAreRefusedBeforeSubmission) {
  const Allocation small = allocate(16), large = allocate(64);
  EXPECT_ERROR(gpu().sdma().copy(large, small).submit(), StatusCode::InvalidArgument,
               "destination (16 bytes) is shorter");
  EXPECT_ERROR(gpu().sdma().copy(Allocation(), small).submit(), StatusCode::InvalidArgument,
               "source is empty");
  EXPECT_ERROR(gpu().sdma().fill(*large.slice(0, 7), 1).submit(), StatusCode::InvalidArgument,
               "7 bytes");
  EXPECT_ERROR(gpu().sdma().fill(*large.slice(2, 8), 1).submit(), StatusCode::InvalidArgument,
               "8 bytes");
  EXPECT_ERROR(gpu().sdma().write(small, pattern(5)).submit(), StatusCode::InvalidArgument,
               "20 bytes");
  EXPECT_ERROR(gpu().sdma().wait(Signal(), 1).submit(), StatusCode::InvalidArgument, "empty");
  EXPECT_ERROR(gpu().sdma().signal(Signal(), 1).submit(), StatusCode::InvalidArgument, "empty");
  const Signal signal = make_signal();
  EXPECT_ERROR(gpu().sdma().signal(signal, uint64_t{1} << 32).submit(), StatusCode::OutOfRange,
               "32 bits");
  EXPECT_ERROR(gpu().sdma().wait(signal, uint64_t{1} << 32).submit(), StatusCode::OutOfRange,
               "32 bits");
}

TEST_F(SdmaTest, FirstErrorOfARecordingSticks) {
  const Allocation memory = allocate(64);
  auto commands = gpu().sdma();
  commands.fill(Allocation(), 1).fill(memory, 2).signal(Signal(), 1);
  EXPECT_FALSE(commands.ok());
  EXPECT_ERROR(commands.submit(), StatusCode::InvalidArgument, "destination is empty");
}

}  // namespace
}  // namespace doppel::conformance
