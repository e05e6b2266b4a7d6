// Reading packet streams from files, walking and printing them.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/abi/kernel_descriptor.h"
#include "core/command_encoder.h"
#include "core/packets/dump.h"
#include "tools/streams/stream_diff.h"
#include "tools/streams/stream_file.h"
#include "tools/streams/stream_print.h"

namespace doppel::streams {
namespace {

using packets::Language;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Result<std::vector<Segment>> parse(std::span<const std::byte> bytes, Language language) {
  AddressNames names;
  return parse_segments(bytes, language, names);
}

TEST(StreamFile, RawDwords) {
  const uint32_t dwords[] = {0xc0004600, 0x407};
  const auto segments = parse(std::as_bytes(std::span(dwords)), Language::Pm4);
  ASSERT_TRUE(segments.has_value());
  ASSERT_EQ(segments->size(), 1u);
  EXPECT_THAT(segments->front().dwords, ElementsAre(0xc0004600, 0x407));
}

TEST(StreamFile, RawBytesThatAreNoDwords) {
  const auto segments = parse(bytes_of(std::string_view("\xc0\0\0", 3)), Language::Pm4);
  ASSERT_FALSE(segments.has_value());
  EXPECT_EQ(segments.error().message(), "The raw stream is no whole number of dwords (3 bytes).");
}

TEST(StreamFile, HexadecimalText) {
  const auto segments = parse(bytes_of("# a comment\n"
                                       "c0004600 00000407\n"
                                       "0x80000000, 0x1  # type 2\n"
                                       "[0010]: deadbeef is not 12345678\n"),
                              Language::Sdma);
  ASSERT_TRUE(segments.has_value());
  ASSERT_EQ(segments->size(), 1u);
  EXPECT_EQ(segments->front().language, Language::Sdma);
  EXPECT_THAT(segments->front().dwords, ElementsAre(0xc0004600, 0x407, 0x80000000, 1, 0xdeadbeef));
}

TEST(StreamFile, LabelledLinesSplitByQueue) {
  const auto segments = parse(bytes_of("ioctl 02 size 0058 in 00000001\n"
                                       "pm4 q0 ring c0004600 00000407\n"
                                       "pm4 q0 ring c0004600 00000407\n"
                                       "sdma q1 ring 00000006 00000001\n"
                                       "pm4 q0 ib c0004600 00000407\n"),
                              Language::Aql);
  ASSERT_TRUE(segments.has_value());
  ASSERT_EQ(segments->size(), 3u);
  EXPECT_EQ((*segments)[0].label, "q0 ring");
  EXPECT_EQ((*segments)[0].dwords.size(), 4u);
  EXPECT_EQ((*segments)[1].language, Language::Sdma);
  EXPECT_EQ((*segments)[2].label, "q0 ib");
}

TEST(StreamFile, TextWithoutDwords) {
  EXPECT_FALSE(parse(bytes_of("nothing here\n"), Language::Pm4).has_value());
  EXPECT_FALSE(parse({}, Language::Pm4).has_value());
}

TEST(StreamFile, OurOwnDumpReadsBack) {
  CommandStream stream(Language::Pm4, GfxFamily::Gfx11);
  Pm4Encoder(stream).memory_barrier().wait({0x1000, 0, 0}, 7);
  const auto dwords = std::as_const(stream).dwords();
  const std::string text = packets::dump_stream(Language::Pm4, dwords, GfxFamily::Gfx11);
  const auto segments = parse(bytes_of(text), Language::Pm4);
  ASSERT_TRUE(segments.has_value());
  EXPECT_EQ(segments->front().dwords, std::vector(dwords.begin(), dwords.end()));
}

TEST(StreamFile, GoldenBlocksNameTheirAddresses) {
  AddressNames names;
  const auto segments = parse_segments(bytes_of("== first (SDMA, gfx12)\n"
                                                "00000: FENCE\n"
                                                "  00030005  mtype=UC\n"
                                                "  @lo       address=signal+0x8\n"
                                                "  @hi\n"
                                                "  00000001  data=1\n"
                                                "== second (PM4, gfx11)\n"
                                                "00000: SET_SH_REG\n"
                                                "  c0037600\n"
                                                "  0000020c  reg_offset=COMPUTE_PGM_LO\n"
                                                "  @lo       COMPUTE_PGM_LO = code+0x100 >> 8\n"
                                                "  00ff@hi   COMPUTE_PGM_HI\n"
                                                "  00000000\n"),
                                       Language::Aql, names);
  ASSERT_TRUE(segments.has_value());
  ASSERT_EQ(segments->size(), 2u);
  const Segment &first = (*segments)[0], &second = (*segments)[1];
  EXPECT_EQ(first.label, "first");
  EXPECT_EQ(first.language, Language::Sdma);
  EXPECT_EQ(first.family, GfxFamily::Gfx12);
  const uint64_t signal = names.address_of("signal+0x8").value();
  EXPECT_THAT(first.dwords, ElementsAre(0x30005, static_cast<uint32_t>(signal),
                                        static_cast<uint32_t>(signal >> 32), 1));
  EXPECT_EQ(names.name_of(signal), "signal+0x8");
  const uint64_t code = names.address_of("code+0x100").value() >> 8;
  EXPECT_THAT(second.dwords, ElementsAre(0xc0037600, 0x20c, static_cast<uint32_t>(code),
                                         static_cast<uint32_t>(code >> 32) | 0x00ff0000, 0));
}

std::vector<ComparedPacket> compared(const CommandStream& stream) {
  return compared_packets(stream.language(), stream.dwords(), stream.family(), {});
}

TEST(StreamDiff, NamesChangedFieldsAndWholePackets) {
  CommandStream before(Language::Pm4, GfxFamily::Gfx11), after(Language::Pm4, GfxFamily::Gfx11);
  Pm4Encoder old_commands(before), new_commands(after);
  old_commands.wait({0x1000, 0, 0}, 1);
  old_commands.timestamp(0x2000);
  old_commands.signal({0x1000, 0, 0}, 2);
  new_commands.wait({0x1000, 0, 0}, 7);
  new_commands.memory_barrier();
  new_commands.signal({0x1040, 0, 0}, 2);
  EXPECT_TRUE(diff(compared(before), compared(before)).empty());
  EXPECT_EQ(to_text(diff(compared(before), compared(after))),
            "! 00000 -> 00000 WAIT_REG_MEM\n"
            "    reference: 1 -> 7\n"
            "- 00007        RELEASE_MEM\n"
            "+        00007 WAIT_REG_MEM\n"
            "+        0000e ACQUIRE_MEM\n"
            "! 0000f -> 00016 RELEASE_MEM\n"
            "    address: 0x1008 -> 0x1048\n");
}

TEST(StreamDiff, NamesRegisters) {
  const uint32_t before[] = {0xc0027600, 0x212, 1, 2}, after[] = {0xc0027600, 0x212, 1, 6};
  auto packets = [](std::span<const uint32_t> dwords) {
    return compared_packets(Language::Pm4, dwords, GfxFamily::Gfx11, {});
  };
  EXPECT_EQ(to_text(diff(packets(before), packets(after))),
            "! 00000 -> 00000 SET_SH_REG COMPUTE_PGM_RSRC1\n"
            "    COMPUTE_PGM_RSRC2: 0x2 -> 0x6\n");
}

/// "offset@depth name" of every packet of a walk.
std::vector<std::string> walk_names(Language language, std::span<const uint32_t> stream,
                                    const WalkOptions& options) {
  std::vector<std::string> names;
  walk_stream(language, stream, options, [&](const Visit& visit) {
    names.push_back(std::to_string(visit.offset) + "@" + std::to_string(visit.depth) + " " +
                    visit.packet.name());
  });
  return names;
}

TEST(StreamWalk, FollowsIndirectBuffersWhoseBytesAreKnown) {
  KnownMemory memory;
  memory.add(0x10000, {0xc0004600, 0x407, 0xffff1000});
  WalkOptions options;
  options.memory = &memory;
  const uint32_t ring[] = {0xc0023f00, 0x10000, 0, 0x800003,   // known
                           0xc0023f00, 0x20000, 0, 0x800003};  // not
  EXPECT_THAT(
      walk_names(Language::Pm4, ring, options),
      ElementsAre("0@0 INDIRECT_BUFFER", "0@1 EVENT_WRITE", "2@1 NOP", "4@0 INDIRECT_BUFFER"));
}

TEST(StreamWalk, ARingOfIndirectBuffersEnds) {
  KnownMemory memory;
  memory.add(0x10000, {0xc0023f00, 0x10000, 0, 0x900004});  // chains to itself
  WalkOptions options;
  options.memory = &memory;
  const uint32_t ring[] = {0xc0023f00, 0x10000, 0, 0x800004};
  EXPECT_EQ(walk_names(Language::Pm4, ring, options).size(), 9u);
}

TEST(StreamWalk, CountsDamageAndResumes) {
  const uint32_t stream[] = {0xc0004600, 0x407, 0xbad, 0xbad, 0xc0004600, 0x407};
  size_t visits = 0;
  const WalkTotals totals = walk_stream(Language::Pm4, stream, {}, [&](const Visit&) { ++visits; });
  EXPECT_EQ(totals.packets, 3u);
  EXPECT_EQ(visits, 3u);
  EXPECT_EQ(totals.problems, 1u);
  EXPECT_EQ(totals.skipped, 2u);
}

std::string text_of(Language language, std::span<const uint32_t> stream,
                    const WalkOptions& options) {
  std::string text;
  TextPrinter printer(options, false);
  walk_stream(language, stream, options, [&](const Visit& visit) { printer.append(text, visit); });
  return text;
}

TEST(StreamPrint, ExplainNamesRules) {
  const uint32_t gcr[] = {0x11, 0, 0x8040, 0, 0};
  WalkOptions options;
  EXPECT_THAT(text_of(Language::Sdma, gcr, options), ::testing::Not(HasSubstr("warning")));
  options.explain = true;
  EXPECT_THAT(text_of(Language::Sdma, gcr, options), HasSubstr("[sdma-gcr-without-control]"));
}

TEST(StreamPrint, ShowsKnownKernelDescriptors) {
  abi::KernelDescriptor kernel{};
  kernel.group_segment_fixed_size = 2048;
  kernel.kernel_code_entry_byte_offset = 0x1000;
  kernel.compute_pgm_rsrc1 = 0x60af0001;
  std::vector<uint32_t> dwords(sizeof(kernel) / 4);
  std::memcpy(dwords.data(), &kernel, sizeof(kernel));
  KnownMemory memory;
  memory.add(0x40000, dwords);
  WalkOptions options;
  options.memory = &memory;
  const auto packet = aql::KernelDispatch(GfxFamily::Gfx11).kernel_object(0x40000);
  const std::string text = text_of(Language::Aql, packet.dwords(), options);
  EXPECT_THAT(text, HasSubstr("kernel descriptor at 0x40000: entry 0x41000, LDS 2048"));
  EXPECT_THAT(text, HasSubstr("COMPUTE_PGM_RSRC1 vgprs=1 float_mode=0xf0"));
}

TEST(StreamPrint, JsonHasFieldsAndProblems) {
  const uint32_t trap[] = {0x00000006, 0xf0000001};
  std::string text;
  walk_stream(Language::Sdma, trap, {}, [&](const Visit& visit) { text += to_json(visit, "q1"); });
  const auto row = nlohmann::json::parse(text);
  EXPECT_EQ(row["segment"], "q1");
  EXPECT_EQ(row["packet"], "TRAP");
  EXPECT_EQ(row["fields"]["int_context"]["value"], 1);
  EXPECT_EQ(row["problems"][0]["kind"], "ReservedBits");
}

}  // namespace
}  // namespace doppel::streams
