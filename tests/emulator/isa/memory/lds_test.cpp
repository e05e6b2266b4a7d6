// DS instructions: LDS loads, stores, atomics, cross-lane moves, counters.
#include <gtest/gtest.h>

#include "tests/emulator/isa/memory/memory_program.h"

namespace doppel::oracle {
namespace {

/// The lanes' address is a byte of LDS; every lane stores its data there first.
MemoryProgram lds_program(const std::string& body, const std::string& cpu = "gfx1100") {
  return MemoryProgram(body, cpu);
}

TEST(Lds, KeepsWhatIsStoredForEverySize) {
  struct Case {
    const char* body;
    std::array<uint32_t, 4> expected;
  };
  const std::array<uint32_t, 4> data = {0x89abcdef, 0x01234567, 0xfedcba98, 0x76543210};
  for (const Case& one : {
           Case{"ds_store_b8 v10, v12\n ds_load_u8 v20, v10\n ds_load_i8 v21, v10",
                {0xef, 0xffffffef, kPreset, kPreset}},
           Case{"ds_store_b16 v10, v12\n ds_load_u16 v20, v10\n ds_load_i16 v21, v10",
                {0xcdef, 0xffffcdef, kPreset, kPreset}},
           Case{"ds_store_b32 v10, v12\n ds_load_b32 v20, v10",
                {data[0], kPreset, kPreset, kPreset}},
           Case{"ds_store_b64 v10, v[12:13]\n ds_load_b64 v[20:21], v10",
                {data[0], data[1], kPreset, kPreset}},
           Case{"ds_store_b96 v10, v[12:14]\n ds_load_b96 v[20:22], v10",
                {data[0], data[1], data[2], kPreset}},
           Case{"ds_store_b128 v10, v[12:15]\n ds_load_b128 v[20:23], v10", data},
           Case{
               "ds_store_b8_d16_hi v10, v12\n ds_load_u8_d16 v20, v10\n ds_load_u8_d16_hi v21, v10",
               {0xdddd00ab, 0x00abdddd, kPreset, kPreset}},
           Case{"ds_store_b16_d16_hi v10, v12\n ds_load_u16_d16 v20, v10\n"
                "ds_load_u16_d16_hi v21, v10",
                {0xdddd89ab, 0x89abdddd, kPreset, kPreset}},
           Case{"ds_store_b8 v10, v12\n ds_load_i8_d16 v20, v10\n ds_load_i8_d16_hi v21, v10",
                {0xddddffef, 0xffefdddd, kPreset, kPreset}},
       }) {
    MemoryProgram program = lds_program(one.body);
    for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {16 * l, 0, data};
    auto done = program.run();
    ASSERT_TRUE(done) << done.error().to_string();
    for (const auto& result : program.results) EXPECT_EQ(result, one.expected) << one.body;
  }
}

TEST(Lds, AddsTheOffset) {
  MemoryProgram program = lds_program("ds_store_b32 v10, v12 offset:65532\n ds_load_b32 v20, v13");
  program.exec = 1;
  program.lanes[0] = {0, 0, {77, 65532, 0, 0}};
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.results[0][0], 77u);
}

TEST(Lds, ReadsZeroAndDropsStoresOutOfRange) {
  MemoryProgram program = lds_program(
      "ds_store_b32 v10, v12\n ds_load_b32 v20, v10\n ds_load_b64 v[21:22], v13\n"
      "ds_add_rtn_u32 v23, v10, v12");
  program.launch().lds_bytes = 1024;
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {4 * l, 0, {l + 1, 1020, 0, 0}};
  program.lanes[3].address = 1024;
  program.lanes[4].address = 0xfffffffc;
  program.lanes[5].address = 1020;
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[3][0], 0u);
  EXPECT_EQ(program.results[4][0], 0u);
  EXPECT_EQ(program.results[5][0], 6u);
  EXPECT_EQ(program.results[5][1], 0u) << "an element that is partly out of range";
  EXPECT_EQ(program.results[3][3], 0u);
  EXPECT_EQ(program.results[6][3], 7u);
}

TEST(Lds, TwoAddressesInUnitsOfTheElement) {
  MemoryProgram program = lds_program(
      "ds_store_2addr_b32 v10, v12, v13 offset0:1 offset1:3\n"
      "ds_load_2addr_b32 v[20:21], v10 offset0:3 offset1:1\n"
      "ds_load_b32 v22, v10 offset:12\n"
      "ds_load_2addr_stride64_b32 v[22:23], v10 offset0:0 offset1:1");
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {16 * l, 0, {100 + l, 200 + l, 0, 0}};
  ASSERT_TRUE(program.run());
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l][0], 200 + l);
    EXPECT_EQ(program.results[l][1], 100 + l);
    EXPECT_EQ(program.results[l][2], 0u);
    EXPECT_EQ(program.results[l][3], 0u) << "64 elements on";
  }
}

TEST(Lds, TwoAddressesOf64Bits) {
  MemoryProgram program = lds_program(
      "ds_store_2addr_stride64_b64 v10, v[12:13], v[14:15] offset0:0 offset1:2\n"
      "ds_load_2addr_stride64_b64 v[20:23], v10 offset0:2 offset1:0");
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {8 * l, 0, {l, l + 1, l + 2, l + 3}};
  ASSERT_TRUE(program.run());
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l], (std::array<uint32_t, 4>{l + 2, l + 3, l, l + 1}));
  }
}

TEST(LdsAtomics, ReturnTheValueBefore) {
  struct Case {
    const char* name;
    uint32_t memory, data, after;
  };
  for (const Case& one :
       {Case{"add_rtn_u32", 5, 7, 12}, Case{"sub_rtn_u32", 5, 7, 0xfffffffe},
        Case{"rsub_rtn_u32", 5, 7, 2}, Case{"inc_rtn_u32", 5, 5, 0}, Case{"inc_rtn_u32", 5, 6, 6},
        Case{"dec_rtn_u32", 0, 9, 9}, Case{"dec_rtn_u32", 5, 9, 4},
        Case{"min_rtn_i32", 5, 0xfffffff0, 0xfffffff0}, Case{"min_rtn_u32", 5, 0xfffffff0, 5},
        Case{"max_rtn_i32", 5, 0xfffffff0, 5}, Case{"max_rtn_u32", 5, 0xfffffff0, 0xfffffff0},
        Case{"and_rtn_b32", 6, 3, 2}, Case{"or_rtn_b32", 6, 3, 7}, Case{"xor_rtn_b32", 6, 3, 5},
        Case{"storexchg_rtn_b32", 6, 3, 3}, Case{"add_rtn_f32", 0x3f800000, 0x40000000, 0x40400000},
        Case{"min_rtn_f32", 0x3f800000, 0xc0000000, 0xc0000000},
        Case{"max_rtn_f32", 0x3f800000, 0x7fc00000, 0x3f800000}}) {
    MemoryProgram program = lds_program(std::string("ds_store_b32 v10, v12\n ds_") + one.name +
                                        " v20, v10, v13\n ds_load_b32 v21, v10");
    for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {4 * l, 0, {one.memory, one.data, 0, 0}};
    auto done = program.run();
    ASSERT_TRUE(done) << one.name << done.error().to_string();
    for (const auto& result : program.results) {
      EXPECT_EQ(result[0], one.memory) << one.name;
      EXPECT_EQ(result[1], one.after) << one.name;
    }
  }
}

TEST(LdsAtomics, WithTwoOperands) {
  struct Case {
    const char* name;
    uint32_t memory, first, second, after;
  };
  for (const Case& one :
       {Case{"mskor_rtn_b32", 0xff, 0x0f, 0x03, 0xf3}, Case{"wrap_rtn_b32", 9, 4, 100, 5},
        Case{"wrap_rtn_b32", 3, 4, 100, 103}, Case{"cmpstore_rtn_b32", 9, 50, 9, 50},
        Case{"cmpstore_rtn_b32", 9, 50, 8, 9}, Case{"cmpstore_rtn_f32", 0x80000000, 50, 0, 50}}) {
    MemoryProgram program = lds_program(std::string("ds_store_b32 v10, v12\n ds_") + one.name +
                                        " v20, v10, v13, v14\n ds_load_b32 v21, v10");
    for (uint32_t l = 0; l < 32; ++l) {
      program.lanes[l] = {4 * l, 0, {one.memory, one.first, one.second, 0}};
    }
    auto done = program.run();
    ASSERT_TRUE(done) << one.name << done.error().to_string();
    EXPECT_EQ(program.results[9][0], one.memory) << one.name;
    EXPECT_EQ(program.results[9][1], one.after) << one.name;
  }
}

TEST(LdsAtomics, OfGfx10CompareWithTheFirstOperand) {
  MemoryProgram program = lds_program(
      "ds_write_b32 v10, v12\n ds_cmpst_rtn_b32 v20, v10, v13, v14\n ds_read_b32 v21, v10",
      "gfx1030");
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {4 * l, 0, {9, 9, 50, 0}};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[0][1], 50u);
}

TEST(LdsAtomics, ConflictsGoLaneByLane) {
  MemoryProgram program =
      lds_program("ds_add_rtn_u64 v[20:21], v10, v[12:13]\n ds_load_b64 v[22:23], v10");
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {0, 0, {0x80000000, 0, 0, 0}};
  ASSERT_TRUE(program.run());
  for (uint32_t l = 0; l < 32; ++l) {
    const uint64_t old = program.results[l][0] | uint64_t{program.results[l][1]} << 32;
    EXPECT_EQ(old, uint64_t{0x80000000} * l);
    EXPECT_EQ(program.results[l][3], 16u);
  }
}

TEST(LdsAtomics, ConditionalExchangeLooksAtBit31OfEachDword) {
  MemoryProgram program = lds_program(
      "ds_store_b64 v10, v[12:13]\n ds_condxchg32_rtn_b64 v[20:21], v10, v[14:15]\n"
      "ds_load_b64 v[22:23], v10");
  for (uint32_t l = 0; l < 32; ++l) {
    program.lanes[l] = {8 * l, 0, {11, 22, 0x80000005, 0x00000006}};
  }
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.results[4], (std::array<uint32_t, 4>{11, 22, 5, 22}));
}

TEST(LdsAtomics, AreAligned) {
  MemoryProgram program = lds_program("ds_add_rtn_u32 v20, v10, v12");
  for (auto& lane : program.lanes) lane.address = 2;
  auto done = program.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, emu::FaultKind::Misaligned);
}

// ------------------------------------------------------------------ across lanes

TEST(LdsCrossLane, Bpermute) {
  MemoryProgram program = lds_program("ds_bpermute_b32 v20, v10, v12 offset:4");
  program.exec = 0xfffffffe;
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {4 * ((l * 7) % 32), 0, {1000 + l, 0, 0, 0}};
  program.lanes[5].address = 4 * 31;  // lane 32: there is none
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 1; l < 32; ++l) {
    const uint32_t from = l == 5 ? 32 : (l * 7) % 32 + 1;
    const bool exists = from < 32 && from != 0;
    EXPECT_EQ(program.results[l][0], exists ? 1000 + from : 0) << l;
  }
  EXPECT_EQ(program.results[0][0], kPreset);
}

TEST(LdsCrossLane, Permute) {
  MemoryProgram program = lds_program("ds_permute_b32 v20, v10, v12");
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {4 * (31 - l), 0, {1000 + l, 0, 0, 0}};
  program.lanes[8].address = 4 * 3;  // lane 28 is given up, lane 3 has two: the last one wins
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.results[3][0], 1000u + 28);
  EXPECT_EQ(program.results[23][0], 0u);
  EXPECT_EQ(program.results[0][0], 1000u + 31);
}

TEST(LdsCrossLane, Swizzle) {
  struct Case {
    const char* offset;
    uint32_t (*source)(uint32_t lane);
  };
  for (const Case& one : {
           Case{"swizzle(SWAP,16)", [](uint32_t l) { return l ^ 16; }},
           Case{"swizzle(REVERSE,8)", [](uint32_t l) { return l ^ 7; }},
           Case{"swizzle(BROADCAST,4,2)", [](uint32_t l) { return (l & ~3u) + 2; }},
           Case{"swizzle(QUAD_PERM,3,1,0,2)",
                [](uint32_t l) {
                  return (l & ~3u) + std::array{3u, 1u, 0u, 2u}[l & 3];
                }},
           Case{"0xc000 + 5 * 32", [](uint32_t l) { return (l + 5) % 32; }},
           Case{"0xc000 + 0x400 + 5 * 32 + 0x10",
                [](uint32_t l) { return (l & 16) | ((l - 5) & 15); }},
           Case{"0xe000",
                [](uint32_t l) {
                  uint32_t reversed = 0;
                  for (uint32_t b = 0; b < 5; ++b) reversed |= (l >> b & 1) << (4 - b);
                  return reversed;
                }},
       }) {
    MemoryProgram program =
        lds_program(std::string("ds_swizzle_b32 v20, v12 offset:") + one.offset);
    program.exec = ~uint64_t{1 << 9};
    for (uint32_t l = 0; l < 32; ++l) program.lanes[l].data[0] = 1000 + l;
    auto done = program.run();
    ASSERT_TRUE(done) << done.error().to_string();
    for (uint32_t l = 0; l < 32; ++l) {
      const uint32_t from = one.source(l);
      const uint32_t expected = l == 9 ? kPreset : from == 9 ? 0 : 1000 + from;
      EXPECT_EQ(program.results[l][0], expected) << one.offset << " lane " << l;
    }
  }
}

TEST(LdsCrossLane, AppendAndConsumeCountLanes) {
  MemoryProgram program = lds_program(
      "s_mov_b32 m0, 64\n ds_append v20 offset:16\n ds_append v21 offset:16\n"
      "ds_consume v22 offset:16\n s_mov_b32 exec_lo, -1\n v_mov_b32 v1, 80\n ds_load_b32 v23, v1");
  program.exec = 0x00ff00f0;
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[4], (std::array<uint32_t, 4>{0, 12, 24, 12}));
  EXPECT_EQ(program.results[0][0], kPreset);
}

TEST(LdsAddTid, AddressesByLane) {
  MemoryProgram program = lds_program(
      "s_mov_b32 m0, 256\n ds_store_addtid_b32 v12 offset:8\n ds_load_addtid_b32 v20 offset:8\n"
      "ds_load_b32 v21, v10");
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {256 + 8 + 4 * l, 0, {l * l, 0, 0, 0}};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[9][0], 81u);
  EXPECT_EQ(program.results[9][1], 81u);
}

}  // namespace
}  // namespace doppel::oracle
