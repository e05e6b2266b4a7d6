// Packet streams as other tools print them, and as traces keep them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/packets/packet.h"
#include "tools/streams/stream_file.h"

namespace doppel::streams {
namespace {

using packets::Language;
using ::testing::ElementsAre;

std::vector<Segment> read_dump(std::string_view text, Language language = Language::Pm4) {
  AddressNames names;
  auto segments =
      parse_segments(std::as_bytes(std::span(text.data(), text.size())), language, names);
  EXPECT_TRUE(segments) << segments.error().to_string();
  return segments.value_or(std::vector<Segment>());
}

std::string name_of(const Segment& segment) {
  return packets::next_packet(segment.language, segment.dwords, GfxFamily::Gfx11).name();
}

TEST(ForeignDump, UmrRings) {
  const auto segments = read_dump(
      "navi31.comp_1.0.0.ring[  12] == 0xc0004600   .w.\n"
      "navi31.comp_1.0.0.ring[  13] == 0x00000407   ...\n"
      "navi31.sdma0.ring[   0] == 0x00000006   rw.\n"
      "navi31.sdma0.ring[   1] == 0x00000001   ...\n");
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].label, "navi31.comp_1.0.0");
  EXPECT_THAT(segments[0].dwords, ElementsAre(0xc0004600, 0x407));
  EXPECT_EQ(name_of(segments[0]), "EVENT_WRITE");
  EXPECT_EQ(segments[1].language, Language::Sdma);
  EXPECT_EQ(name_of(segments[1]), "TRAP");
}

TEST(ForeignDump, UmrBuffersInColour) {
  const auto segments = read_dump(
      "Decoding IB at 0x1@0x100000000 from 0x0@0x191c of 16 words (type 4)\n"
      "\033[1m[0x1@0x100000000 + 0x0000]\033[0m  [0xc0004600]  EVENT_WRITE\n"
      "[0x1@0x100000000 + 0x0004]  [  0x00000407]  |---> EVENT_TYPE=7\n"
      "Decoding IB at 0x1@0x200000000 from 0x0@0x191c of 16 words (type 4)\n"
      "[0x1@0x200000000 + 0x0000]  [  0xffff1000]  NOP\n");
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].address, 0x100000000u);
  EXPECT_THAT(segments[0].dwords, ElementsAre(0xc0004600, 0x407));
  EXPECT_THAT(segments[1].dwords, ElementsAre(0xffff1000));
}

/// The packets are put together again from what the log says of their fields.
TEST(ForeignDump, HipLog) {
  const auto segments = read_dump(
      ":4:rocvirtual.cpp :1043: 17 us: 42: [tid:0x7f] SWq=0x55, HWq=0x7f0ab9c00000, id=1, Dispatch "
      "Header = 0xb02 (type=2, barrier=1, acquire=1, release=1), setup=3, grid=[4096, 1, 1], "
      "workgroup=[256, 1, 1], private_seg_size=0, group_seg_size=16, kernel_obj=0x7f1000, "
      "kernarg_address=0x7f2000, completion_signal=0x0\n"
      ":4:rocvirtual.cpp :1163: 18 us: 42: SWq=0x55, HWq=0x7f0ab9c00000, id=1, BarrierAND Header = "
      "0x1503 (type=3, barrier=1, acquire=2, release=2), dep_signal=[0x7f3000, 0x0, 0x0, 0x0, "
      "0x0], completion_signal=0x7f4000\n");
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].label, "HWq=0x7f0ab9c00000");
  EXPECT_EQ(segments[0].language, Language::Aql);
  ASSERT_EQ(segments[0].dwords.size(), 32u);
  packets::PacketCursor cursor(Language::Aql, segments[0].dwords, GfxFamily::Gfx10_3);
  ASSERT_EQ(cursor.packet().aql_id(), aql::Id::KernelDispatch);
  const auto dispatch = cursor.packet().as<aql::KernelDispatch>();
  EXPECT_EQ(dispatch.grid_size_x(), 4096u);
  EXPECT_EQ(dispatch.workgroup_size_x(), 256u);
  EXPECT_EQ(dispatch.group_segment_size(), 16u);
  EXPECT_EQ(dispatch.kernel_object(), 0x7f1000u);
  EXPECT_EQ(dispatch.kernarg_address(), 0x7f2000u);
  cursor.advance();
  ASSERT_EQ(cursor.packet().aql_id(), aql::Id::BarrierAnd);
  const auto barrier = cursor.packet().as<aql::BarrierAnd>();
  EXPECT_EQ(barrier.dep_signal0(), 0x7f3000u);
  EXPECT_EQ(barrier.completion_signal(), 0x7f4000u);
}

TEST(ForeignDump, PythonLists) {
  const auto segments = read_dump("[3221243392, 1031]\n['0xc0004600', '0x407']\n");
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_THAT(segments[0].dwords, ElementsAre(0xc0004600, 0x407));
  EXPECT_THAT(segments[1].dwords, ElementsAre(0xc0004600, 0x407));
}

TEST(ForeignDump, ListsAmongOtherTextAreNoStream) {
  AddressNames names;
  const std::string_view text = "shapes: [4, 8]\n[1, 2]\n";
  EXPECT_FALSE(
      parse_segments(std::as_bytes(std::span(text.data(), text.size())), Language::Pm4, names));
}

TEST(ForeignDump, LinesOfATrace) {
  const auto segments = read_dump(R"~(
{"event":"queue","queue":"queue 0 (sdma, gpu 0)","target":"gfx1030"}
{"event":"packet","queue":"queue 0 (sdma, gpu 0)","language":"SDMA","dwords":["0x6","0x1"]}
{"event":"packet","queue":"queue 1 (pm4, gpu 0)","language":"PM4","dwords":["0xc0004600","0x407"]}
{"event":"packet","queue":"queue 0 (sdma, gpu 0)","language":"SDMA","dwords":["0x0"]}
)~");
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].family, GfxFamily::Gfx10_3);
  EXPECT_THAT(segments[0].dwords, ElementsAre(6, 1, 0));
  EXPECT_EQ(name_of(segments[1]), "EVENT_WRITE");
}

/// Text that almost is a dump never crashes, and yields nothing that was not there.
TEST(ForeignDump, HalfDumpsAreHarmless) {
  for (const char* text : {"[0x1@0x100000000 + 0xffffffffffffffff]  [0xc0004600]\n", "[0x1@",
                           "x.ring[", "x.ring[1] == ", "Dispatch Header = 0x", "[", "['0x",
                           "{\"event\":\"packet\"}", "{", "\033[", "\033"}) {
    AddressNames names;
    const std::string_view all(text);
    for (size_t size = 0; size <= all.size(); ++size) {
      const auto part = std::as_bytes(std::span(all.data(), size));
      (void)parse_segments(part, Language::Pm4, names);
    }
  }
}

}  // namespace
}  // namespace doppel::streams
