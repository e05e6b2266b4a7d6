// The decoder's verdict on packets at the edge and beyond it, case by case.
#include <bit>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/abi/hsa_aql.h"
#include "core/packets/dump.h"
#include "core/packets/validate.h"

namespace doppel::packets {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Dwords = std::vector<uint32_t>;

struct Case {
  const char* what;
  Language language;
  GfxFamily family;
  Dwords stream;
  uint32_t size;        // that the decoder reports
  const char* name;     // of the packet
  const char* problem;  // part of the message, "" for none
};

const Case kCases[] = {
    {"NOP of one dword", Language::Pm4, GfxFamily::Gfx11, {0xffff1000}, 1, "NOP", ""},
    {"type 2 filler", Language::Pm4, GfxFamily::Gfx11, {0x80000000, 0}, 1, "NOP", ""},
    {"NOP with payload", Language::Pm4, GfxFamily::Gfx11, {0xc0011000, 1, 2}, 3, "NOP", ""},
    {"type 0",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0x00000000},
     0,
     "PM4 opcode 0x00",
     "The header's packet type is neither 2 nor 3 (0x00000000)."},
    {"type 1", Language::Pm4, GfxFamily::Gfx11, {0x40001000}, 0, "NOP", "(0x40001000)"},
    {"opcode that the headers name",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0016900, 0, 0},
     3,
     "SET_CONTEXT_REG",
     "The packet is unknown (SET_CONTEXT_REG)."},
    {"opcode that nobody names",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc001ff00, 0, 0},
     3,
     "PM4 opcode 0xff",
     "The packet is unknown (PM4 opcode 0xff)."},
    {"unknown and cut",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0096900, 0},
     11,
     "SET_CONTEXT_REG",
     "The packet is unknown"},
    {"count one too small",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0054900, 0, 0, 0, 0, 0, 0},
     7,
     "RELEASE_MEM",
     "RELEASE_MEM cannot have the length that its header gives (7 dwords)."},
    {"count one too large",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0074900, 0, 0, 0, 0, 0, 0, 0, 0},
     9,
     "RELEASE_MEM",
     "(9 dwords)"},
    {"ACQUIRE_MEM of gfx9 on gfx11",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0055800, 0, 0, 0, 0, 0, 0},
     7,
     "ACQUIRE_MEM",
     "(7 dwords)"},
    {"ACQUIRE_MEM of gfx9 on gfx9",
     Language::Pm4,
     GfxFamily::Gfx9_4,
     {0xc0055800, 0, 0, 0, 0, 0, 0},
     7,
     "ACQUIRE_MEM",
     ""},
    {"SET_SH_REG without a value",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0007600, 0x20c},
     2,
     "SET_SH_REG",
     "(2 dwords)"},
    {"EVENT_WRITE of three dwords",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0014600, 0x407, 0},
     3,
     "EVENT_WRITE",
     "(3 dwords)"},
    {"only the header is there",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xc0064900},
     8,
     "RELEASE_MEM",
     "The stream ends inside RELEASE_MEM (1 of 8 dwords are there)."},
    {"largest count",
     Language::Pm4,
     GfxFamily::Gfx11,
     {0xfffe1000, 0},
     16384,
     "NOP",
     "(2 of 16384 dwords are there)"},
    {"SDMA padding", Language::Sdma, GfxFamily::Gfx11, {0, 0, 0}, 1, "NOP", ""},
    {"SDMA NOP with count", Language::Sdma, GfxFamily::Gfx11, {0x00020000, 1, 2, 3}, 3, "NOP", ""},
    {"SDMA NOP whose count is beyond",
     Language::Sdma,
     GfxFamily::Gfx11,
     {0x00050000, 1},
     6,
     "NOP",
     "(2 of 6 dwords are there)"},
    {"WRITE of one dword",
     Language::Sdma,
     GfxFamily::Gfx11,
     {2, 0x1000, 0, 0, 9},
     5,
     "WRITE_UNTILED",
     ""},
    {"WRITE whose count is cut off",
     Language::Sdma,
     GfxFamily::Gfx11,
     {2, 0x1000},
     4,
     "WRITE_UNTILED",
     "(2 of 4 dwords are there)"},
    {"WRITE whose data is cut off",
     Language::Sdma,
     GfxFamily::Gfx11,
     {2, 0x1000, 0, 3, 9},
     8,
     "WRITE_UNTILED",
     "(5 of 8 dwords are there)"},
    {"COPY with compression on SDMA 7",
     Language::Sdma,
     GfxFamily::Gfx12,
     {0x00080001, 3, 0, 1, 0, 2, 0, 0},
     8,
     "COPY_LINEAR",
     ""},
    {"the same on SDMA 6",
     Language::Sdma,
     GfxFamily::Gfx11,
     {0x00080001, 3, 0, 1, 0, 2, 0, 0},
     7,
     "COPY_LINEAR",
     ""},
    {"GCR_REQ on SDMA 4",
     Language::Sdma,
     GfxFamily::Gfx9_4,
     {0x11, 0, 0, 0, 0},
     0,
     "GCR_REQ",
     "The packet does not exist on this GPU (GCR_REQ on gfx9.4)."},
    {"SDMA op with a name only",
     Language::Sdma,
     GfxFamily::Gfx11,
     {0x0c, 0},
     0,
     "PTEPDE sub-op 0",
     "The packet is unknown (PTEPDE sub-op 0)."},
    {"SDMA op without a name",
     Language::Sdma,
     GfxFamily::Gfx11,
     {0x1234},
     0,
     "SDMA op 52 sub-op 18",
     "The packet is unknown"},
    {"AQL invalid", Language::Aql, GfxFamily::Gfx11, Dwords{1}, 16, "AQL INVALID",
     "The packet is unknown (AQL INVALID)."},
    {"AQL cut",
     Language::Aql,
     GfxFamily::Gfx11,
     {0x1503, 0, 0},
     16,
     "BARRIER_AND",
     "(3 of 16 dwords are there)"},
    {"AQL vendor format",
     Language::Aql,
     GfxFamily::Gfx11,
     {0x00090000},
     16,
     "AQL vendor format 9",
     "The packet is unknown"},
};

TEST(Decoder, Cases) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.what);
    const Packet packet = next_packet(each.language, each.stream, each.family);
    EXPECT_EQ(packet.size, each.size);
    EXPECT_EQ(packet.name(), each.name);
    if (*each.problem == 0) {
      EXPECT_TRUE(packet.ok()) << packet.error->message;
    } else {
      ASSERT_FALSE(packet.ok());
      EXPECT_THAT(packet.error->message, HasSubstr(each.problem));
      EXPECT_TRUE(packet.payload().empty());
    }
  }
}

std::vector<std::string> problems_of(Language language, const Dwords& dwords,
                                     GfxFamily family = GfxFamily::Gfx11) {
  std::vector<std::string> messages;
  for (const Problem& problem : validate(next_packet(language, dwords, family))) {
    messages.push_back(problem.message);
  }
  return messages;
}

TEST(Validator, NamesWhatIsWrong) {
  EXPECT_THAT(
      problems_of(Language::Pm4, {0xc0053c00, 0x17, 0x1002, 0, 0, 0, 4}),
      ElementsAre("WAIT_REG_MEM has a value in function that has no meaning (7).",
                  "WAIT_REG_MEM has a misaligned address (0x1002 is not a multiple of 4)."));
  EXPECT_THAT(problems_of(Language::Pm4, {0xc0031500, 1, 1, 1, 0x80000001}),
              ElementsAre("DISPATCH_DIRECT sets reserved bits of dword 4 (0x80000000)."));
  EXPECT_THAT(problems_of(Language::Pm4, {0xc00315f8, 1, 1, 1, 1}),
              ElementsAre("DISPATCH_DIRECT sets reserved bits of dword 0 (0xf8)."));
  // The HDP flush's second register does not exist in a plain register poll.
  EXPECT_THAT(problems_of(Language::Pm4, {0xc0053c00, 0x03, 0xe27, 0xe27, 0, 0, 4}),
              ElementsAre("WAIT_REG_MEM sets reserved bits of dword 3 (0xe27)."));
  EXPECT_THAT(problems_of(Language::Sdma, {0x0000020d, 0x1004, 0}),
              ElementsAre("TIMESTAMP_GET_GLOBAL has a misaligned address (0x1004 is not a multiple "
                          "of 8)."));
}

TEST(Cursor, StopsAtDamageAndResumesBehindIt) {
  const Dwords stream = {0xc0004600, 0x407, 0x00000bad, 0x12345678,  // two dwords of damage
                         0xc0017600, 0x218, 0x00200200, 0xc0004600, 0x407};
  PacketCursor cursor(Language::Pm4, stream, GfxFamily::Gfx11);
  EXPECT_EQ(cursor.packet().pm4_id(), pm4::Id::EventWrite);
  cursor.advance();
  EXPECT_EQ(cursor.offset(), 2u);
  EXPECT_FALSE(cursor.packet().ok());
  EXPECT_EQ(cursor.resync(), 2u);
  EXPECT_EQ(cursor.packet().pm4_id(), pm4::Id::SetShReg);
  EXPECT_THAT(std::vector(cursor.packet().payload().begin(), cursor.packet().payload().end()),
              ElementsAre(0x00200200));
  cursor.advance();
  cursor.advance();
  EXPECT_TRUE(cursor.done());
}

TEST(Cursor, EndsAtAPacketOfUnknownSize) {
  const Dwords stream = {0x0000000c, 0, 0, 0};
  PacketCursor cursor(Language::Sdma, stream, GfxFamily::Gfx11);
  EXPECT_FALSE(cursor.packet().ok());
  cursor.advance();
  EXPECT_TRUE(cursor.done());
}

TEST(Dump, ShowsFieldsBesideTheirDwords) {
  const Dwords stream = {0xc0064900, 0x0070f514, 0x22000000, 0x71bfff48, 0x7fe5, 3, 0, 0};
  EXPECT_EQ(dump_stream(Language::Pm4, stream, GfxFamily::Gfx11),
            "00000: RELEASE_MEM\n"
            "  c0064900\n"
            "  0070f514  event_type=CACHE_FLUSH_AND_INV_TS_EVENT event_index=END_OF_PIPE "
            "gcr_glm_wb gcr_glm_inv gcr_glv_inv gcr_gl1_inv gcr_gl2_inv gcr_gl2_wb gcr_seq=1 "
            "cache_policy=LRU\n"
            "  22000000  dst_sel=MEMORY_CONTROLLER mes_action_id=NO_MES_NOTIFICATION "
            "int_sel=SEND_INTERRUPT_AFTER_WRITE_CONFIRM data_sel=SEND_32_BIT_LOW\n"
            "  71bfff48  address=0x7fe571bfff48\n"
            "  00007fe5\n"
            "  00000003  data=3\n"
            "  00000000\n"
            "  00000000  int_ctxid=0\n");
}

// The structs of core/abi and the rows of aql.inc describe the same bytes.
template <class Struct>
Dwords bytes_of(const Struct& packet) {
  Dwords dwords(16);
  static_assert(sizeof(packet) == 64);
  std::memcpy(dwords.data(), &packet, sizeof(packet));
  return dwords;
}
template <class Builder>
Dwords dwords_of(const Builder& packet) {
  return {packet.dwords().begin(), packet.dwords().end()};
}

/// A long stream's repeated packets are copied; that must not show.
TEST(Dump, RepeatedPacketsReadAsTheFirstOfThem) {
  Dumper one_for_all({});
  for (uint32_t number = 0; number < 1000; ++number) {
    const uint32_t dwords[] = {0xc0053c00, 0x15, 0x1000, 0, number % 7, 0xffffffff, 4};
    const Packet packet = next_packet(Language::Pm4, dwords, GfxFamily::Gfx11);
    std::string text;
    one_for_all.append(text, packet);
    ASSERT_EQ(text, dump(packet));
  }
}

TEST(AqlLayout, StructsAgreeWithRows) {
  constexpr auto kFamily = GfxFamily::Gfx11;
  abi::KernelDispatchPacket dispatch{};
  dispatch.header = abi::aql_header(abi::HSA_PACKET_TYPE_KERNEL_DISPATCH, true,
                                    abi::HSA_FENCE_SCOPE_SYSTEM, abi::HSA_FENCE_SCOPE_AGENT);
  EXPECT_EQ(dispatch.header, 0x0d02);  // seen from HIP 5.2
  dispatch.setup = 3;
  dispatch.workgroup_size_x = 0x1111, dispatch.workgroup_size_y = 0x2222;
  dispatch.workgroup_size_z = 0x3333;
  dispatch.grid_size_x = 4, dispatch.grid_size_y = 5, dispatch.grid_size_z = 6;
  dispatch.private_segment_size = 7, dispatch.group_segment_size = 8;
  dispatch.kernel_object = 0x123456789abcdef0, dispatch.kernarg_address = 0x23456789abcdef01;
  dispatch.completion_signal = 0x3456789abcdef012;
  EXPECT_EQ(bytes_of(dispatch), dwords_of(aql::KernelDispatch(kFamily)
                                              .barrier(true)
                                              .acquire_scope(aql::FenceScope::SYSTEM)
                                              .release_scope(aql::FenceScope::AGENT)
                                              .dimensions(3)
                                              .workgroup_size_x(0x1111)
                                              .workgroup_size_y(0x2222)
                                              .workgroup_size_z(0x3333)
                                              .grid_size_x(4)
                                              .grid_size_y(5)
                                              .grid_size_z(6)
                                              .private_segment_size(7)
                                              .group_segment_size(8)
                                              .kernel_object(0x123456789abcdef0)
                                              .kernarg_address(0x23456789abcdef01)
                                              .completion_signal(0x3456789abcdef012)));
  abi::BarrierPacket barrier{};
  barrier.header = abi::HSA_PACKET_TYPE_BARRIER_OR;
  barrier.dep_signal[0] = 0x40, barrier.dep_signal[4] = 0x80;
  barrier.completion_signal = 0xc0;
  EXPECT_EQ(bytes_of(barrier),
            dwords_of(aql::BarrierOr(kFamily).dep_signal0(0x40).dep_signal4(0x80).completion_signal(
                0xc0)));
  abi::AgentDispatchPacket agent{};
  agent.header = abi::HSA_PACKET_TYPE_AGENT_DISPATCH;
  agent.type = 0x8000, agent.return_address = 5, agent.arg[0] = 6, agent.arg[3] = 7;
  EXPECT_EQ(
      bytes_of(agent),
      dwords_of(aql::AgentDispatch(kFamily).function(0x8000).return_address(5).arg0(6).arg3(7)));
  abi::VendorBarrierValuePacket value{};
  value.amd_format = abi::HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  value.signal = 0x40, value.value = -1, value.mask = 0xff, value.cond = 3;
  EXPECT_EQ(bytes_of(value),
            dwords_of(aql::VendorBarrierValue(kFamily).signal(0x40).value(~0ull).mask(0xff).cond(
                aql::SignalCondition::GTE)));
  abi::VendorPm4IbPacket jump{};
  jump.ven_hdr = abi::HSA_AMD_PACKET_TYPE_PM4_IB;
  const auto ib = pm4::IndirectBuffer(kFamily).ib_base(0x7f0012345678).ib_size(8).valid(true);
  std::ranges::copy(ib.dwords(), jump.ib_jump_cmd);
  jump.dw_cnt_remain = 10;
  EXPECT_EQ(bytes_of(jump), dwords_of(aql::VendorPm4Ib(kFamily)
                                          .ib_header(0xc0023f00)
                                          .ib_base(0x7f0012345678)
                                          .ib_control(0x800008)
                                          .dw_cnt_remain(10)));
}

}  // namespace
}  // namespace doppel::packets
