#include "backends/kfd/ring_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/abi/hsa_aql.h"
#include "core/command_encoder.h"

namespace doppel::kfd {
namespace {

constexpr GfxFamily kFamily = GfxFamily::Gfx11;

CommandStream sdma_fences(uint32_t count, uint32_t first_value = 1) {
  CommandStream stream(packets::Language::Sdma, kFamily);
  for (uint32_t index = 0; index < count; ++index) {
    SdmaEncoder(stream).signal({.address = 0x1000}, first_value + index);
  }
  return stream;
}

CommandStream pm4_signals(uint32_t count) {
  CommandStream stream(packets::Language::Pm4, kFamily);
  for (uint32_t index = 0; index < count; ++index) {
    Pm4Encoder(stream).signal({.address = 0x1000}, index + 1);
  }
  return stream;
}

CommandStream aql_barriers(uint32_t count) {
  CommandStream stream(packets::Language::Aql, kFamily);
  for (uint32_t index = 0; index < count; ++index) AqlEncoder(stream).barrier_and({});
  return stream;
}

TEST(RingBuffer, Pm4WrapsInTheMiddleOfAPacket) {
  std::vector<uint32_t> memory(64, 0xdeadbeef);
  RingBuffer ring(QueueKind::Pm4, memory);
  const CommandStream stream = pm4_signals(3);  // 8 dwords each
  for (int round = 0; round < 2; ++round) ring.write(stream);
  ring.write(pm4_signals(1));
  ASSERT_EQ(ring.put(), 56u);
  ring.write(stream);
  EXPECT_EQ(ring.put(), 80u);
  EXPECT_EQ(ring.write_pointer(), 80u) << "dwords, never wrapped";
  EXPECT_EQ(ring.doorbell_value(), 80u);
  for (uint32_t at = 0; at < 24; ++at) EXPECT_EQ(memory[(56 + at) % 64], stream.dwords()[at]);
  EXPECT_EQ(ring.needed(stream), 24u);
}

TEST(RingBuffer, SdmaNeverSplitsAPacket) {
  std::vector<uint32_t> memory(16, 0xdeadbeef);
  RingBuffer ring(QueueKind::Sdma, memory);
  ring.write(sdma_fences(3));  // 12 of 16 dwords
  CommandStream fill(packets::Language::Sdma, kFamily);
  SdmaEncoder(fill).fill(0x2000, 7, 64);  // 5 dwords: 4 are left
  ASSERT_EQ(fill.size(), 5u);
  EXPECT_EQ(ring.needed(fill), 9u);
  ring.write(fill);
  EXPECT_EQ(ring.put(), 21u);
  EXPECT_EQ(ring.write_pointer(), 84u) << "bytes";
  for (uint32_t at = 12; at < 16; ++at) EXPECT_EQ(memory[at], 0u) << "NOP at " << at;
  for (uint32_t at = 0; at < 5; ++at) EXPECT_EQ(memory[at], fill.dwords()[at]);
}

TEST(RingBuffer, SdmaPacketThatFitsExactlyNeedsNoPadding) {
  std::vector<uint32_t> memory(16);
  RingBuffer ring(QueueKind::Sdma, memory);
  ring.write(sdma_fences(3));
  EXPECT_EQ(ring.needed(sdma_fences(1)), 4u);
  ring.write(sdma_fences(1));
  EXPECT_EQ(ring.put(), 16u);
  EXPECT_EQ(ring.needed(sdma_fences(1)), 4u);
}

/// Property: whatever is written, a reader that follows the packets sees exactly these packets,
/// each in one piece, and NOPs between them.
TEST(RingBuffer, SdmaReaderSeesThePackets) {
  std::vector<uint32_t> memory(64);
  RingBuffer ring(QueueKind::Sdma, memory);
  uint64_t read = 0;
  uint32_t next_value = 1;
  for (uint32_t round = 0; round < 500; ++round) {
    const uint32_t count = 1 + round * 7 % 5;
    CommandStream stream = sdma_fences(count, next_value);
    if (round % 3 == 0) SdmaEncoder(stream).fill(0x2000, round, 64);
    ASSERT_LE(stream.size(), ring.max_stream());
    ASSERT_LE(ring.needed(stream), ring.free_dwords(read * 4));
    ring.write(stream);
    while (read < ring.put()) {
      const uint64_t at = read % memory.size();
      const uint32_t op = memory[at] & 0xff;
      if (op == 0) {
        ++read;
        continue;
      }
      const uint32_t length = op == 5 ? 4 : 5;
      ASSERT_LE(at + length, memory.size()) << "packet split";
      if (op == 5) {
        ASSERT_EQ(memory[at + 3], next_value++);
      }
      read += length;
    }
  }
}

TEST(RingBuffer, AqlPublishesHeadersAndCountsPackets) {
  std::vector<uint32_t> memory(64);
  RingBuffer ring(QueueKind::Aql, memory);
  for (uint32_t packet = 0; packet < 4; ++packet) {
    EXPECT_EQ(memory[packet * 16] & 0xff, doppel::abi::HSA_PACKET_TYPE_INVALID);
  }
  const CommandStream stream = aql_barriers(3);
  ring.write(stream);
  EXPECT_EQ(ring.write_pointer(), 3u);
  EXPECT_EQ(ring.doorbell_value(), 2u) << "the last packet's index";
  EXPECT_EQ(memory[0], stream.dwords()[0]);
  EXPECT_EQ(memory[48] & 0xff, doppel::abi::HSA_PACKET_TYPE_INVALID);
  ring.write(aql_barriers(2));
  EXPECT_EQ(ring.write_pointer(), 5u);
}

TEST(RingBuffer, FreeSpaceIsExactForMonotonicAndWrappedReadPointers) {
  std::vector<uint32_t> memory(64);
  RingBuffer pm4(QueueKind::Pm4, memory);
  EXPECT_EQ(pm4.free_dwords(0), 63u);
  pm4.write(pm4_signals(7));
  EXPECT_EQ(pm4.free_dwords(0), 7u);
  EXPECT_EQ(pm4.free_dwords(56), 63u);
  pm4.write(pm4_signals(3));  // put is 80
  EXPECT_EQ(pm4.free_dwords(40), 23u);
  EXPECT_EQ(pm4.free_dwords(80), 63u);
  EXPECT_EQ(pm4.free_dwords(80 % 64), 63u) << "modulo the ring's size";

  RingBuffer sdma(QueueKind::Sdma, memory);
  sdma.write(sdma_fences(8));
  EXPECT_EQ(sdma.free_dwords(0), 31u);
  EXPECT_EQ(sdma.free_dwords(16 * 4), 47u) << "bytes";

  RingBuffer aql(QueueKind::Aql, memory);
  aql.write(aql_barriers(3));
  EXPECT_EQ(aql.free_dwords(0), 0u);
  EXPECT_EQ(aql.free_dwords(1), 16u);
  EXPECT_EQ(aql.free_dwords(3), 48u);
}

/// `dwords` long: NOPs, and at the end an INDIRECT if there is to be one.
CommandStream sdma_stream(uint64_t dwords, bool with_indirect) {
  CommandStream stream(packets::Language::Sdma, kFamily);
  const sdma::Indirect call(kFamily);
  const uint64_t nops = dwords - (with_indirect ? call.dwords().size() : 0);
  for (uint64_t at = 0; at < nops; ++at) stream.append(sdma::Nop(kFamily));
  if (with_indirect) stream.append(call);
  return stream;
}

TEST(RingBuffer, LongestStreamAlwaysFitsAnEmptyRing) {
  for (const bool with_indirect : {false, true}) {
    for (uint64_t start = 0; start < 64; ++start) {
      std::vector<uint32_t> memory(64);
      RingBuffer ring(QueueKind::Sdma, memory);
      for (uint64_t at = 0; at < start; ++at) ring.write(sdma_stream(1, false));
      const CommandStream longest = sdma_stream(ring.max_stream(), with_indirect);
      EXPECT_LE(ring.needed(longest), ring.free_dwords(ring.write_pointer()))
          << start << (with_indirect ? " with an INDIRECT" : "");
    }
  }
}

}  // namespace
}  // namespace doppel::kfd
