// GLOBAL loads and stores: every size, every way lanes may lie, partial EXEC, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/emulator/isa/memory/memory_program.h"

namespace doppel::oracle {
namespace {

using ::testing::HasSubstr;

struct Element {
  const char* suffix;
  uint32_t bytes;
  bool sign_extends;
};
constexpr Element kElements[] = {{"u8", 1, false},   {"i8", 1, true},    {"u16", 2, false},
                                 {"i16", 2, true},   {"b32", 4, false},  {"b64", 8, false},
                                 {"b96", 12, false}, {"b128", 16, false}};

struct Layout {
  const char* name;
  std::function<uint64_t(uint32_t lane, uint32_t bytes)> offset;
};
const Layout kLayouts[] = {
    {"contiguous", [](uint32_t l, uint32_t bytes) { return uint64_t{l} * bytes; }},
    {"reversed", [](uint32_t l, uint32_t bytes) { return uint64_t{31 - l} * bytes; }},
    {"strided", [](uint32_t l, uint32_t) { return uint64_t{l} * 48; }},
    {"uniform", [](uint32_t, uint32_t) { return uint64_t{64}; }},
    {"unaligned", [](uint32_t l, uint32_t bytes) { return 1 + uint64_t{l} * (bytes + 1); }},
    {"pairs", [](uint32_t l, uint32_t bytes) { return uint64_t{l / 2} * bytes; }},
};

std::array<uint32_t, 4> expected_load(const MemoryProgram& program, const Element& element,
                                      uint64_t offset) {
  std::array<uint32_t, 4> value = {kPreset, kPreset, kPreset, kPreset};
  if (element.bytes < 4) value[0] = 0;
  std::memcpy(value.data(), program.target.data() + offset, element.bytes);
  if (element.sign_extends) {
    const uint32_t shift = 32 - 8 * element.bytes;
    value[0] = static_cast<uint32_t>(static_cast<int32_t>(value[0] << shift) >> shift);
  }
  return value;
}

std::string registers(uint32_t first, uint32_t bytes) {
  const uint32_t count = (bytes + 3) / 4;
  if (count == 1) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

class GlobalElements : public ::testing::TestWithParam<Element> {};

TEST_P(GlobalElements, LoadWhereverLanesLie) {
  const Element element = GetParam();
  const std::string load =
      std::string("global_load_") + element.suffix + " " + registers(20, element.bytes);
  for (const char* address : {", v[10:11], off", ", v10, s[8:9]"}) {
    for (uint64_t exec : {0xffffffffu, 0x5a5af00fu, 0x80000000u, 0x1u, 0x0u}) {
      for (const Layout& layout : kLayouts) {
        MemoryProgram program(load + address);
        const bool scalar_base = std::string_view(address).find("s[") != std::string_view::npos;
        program.fill_target(4096);
        program.exec = exec;
        for (uint32_t l = 0; l < 32; ++l) {
          const uint64_t offset = layout.offset(l, element.bytes);
          // Lanes that are off point nowhere.
          program.lanes[l].address = (exec >> l & 1) == 0 ? 0xdeadbeefdead
                                     : scalar_base        ? offset
                                                          : kTarget + offset;
        }
        auto done = program.run();
        ASSERT_TRUE(done) << layout.name << ": " << done.error().to_string();
        for (uint32_t l = 0; l < 32; ++l) {
          const auto expected =
              (exec >> l & 1) == 0
                  ? std::array{kPreset, kPreset, kPreset, kPreset}
                  : expected_load(program, element, layout.offset(l, element.bytes));
          ASSERT_EQ(program.results[l], expected) << layout.name << " lane " << l << address;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GlobalElements, ::testing::ValuesIn(kElements),
                         [](const auto& info) { return std::string(info.param.suffix); });

class GlobalStores : public ::testing::TestWithParam<Element> {};

TEST_P(GlobalStores, LeaveTheHighestLanesValue) {
  const Element element = GetParam();
  const std::string store = std::string("global_store_b") + std::to_string(8 * element.bytes) +
                            " v[10:11], " + registers(12, element.bytes) + ", off";
  for (uint64_t exec : {0xffffffffu, 0x5a5af00fu, 0x0u}) {
    for (const Layout& layout : kLayouts) {
      MemoryProgram program(store);
      program.fill_target(4096);
      program.exec = exec;
      auto expected = program.target;
      for (uint32_t l = 0; l < 32; ++l) {
        const uint64_t offset = layout.offset(l, element.bytes);
        program.lanes[l].address = (exec >> l & 1) != 0 ? kTarget + offset : 0x123456789a;
        program.lanes[l].data = {0x11000000 + l, 0x22000000 + l, 0x33000000 + l, 0x44000000 + l};
        if ((exec >> l & 1) == 0) continue;
        std::memcpy(expected.data() + offset, program.lanes[l].data.data(), element.bytes);
      }
      auto done = program.run();
      ASSERT_TRUE(done) << layout.name << ": " << done.error().to_string();
      EXPECT_EQ(program.target, expected) << layout.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GlobalStores,
                         ::testing::Values(Element{"b8", 1, false}, Element{"b16", 2, false},
                                           Element{"b32", 4, false}, Element{"b64", 8, false},
                                           Element{"b96", 12, false}, Element{"b128", 16, false}),
                         [](const auto& info) { return std::string(info.param.suffix); });

TEST(GlobalD16, KeepsTheOtherHalf) {
  struct Case {
    const char* instruction;
    uint32_t expected;
  };
  for (const Case& one :
       {Case{"global_load_d16_u8", 0xdddd0085}, Case{"global_load_d16_i8", 0xddddff85},
        Case{"global_load_d16_b16", 0xdddd8385}, Case{"global_load_d16_hi_u8", 0x0085dddd},
        Case{"global_load_d16_hi_i8", 0xff85dddd}, Case{"global_load_d16_hi_b16", 0x8385dddd}}) {
    MemoryProgram program(std::string(one.instruction) + " v20, v[10:11], off");
    program.fill_target(64);
    program.set_target<uint16_t>(8, 0x8385);
    for (auto& lane : program.lanes) lane.address = kTarget + 8;
    ASSERT_TRUE(program.run());
    for (const auto& result : program.results)
      EXPECT_EQ(result[0], one.expected) << one.instruction;
  }
}

TEST(GlobalD16, StoresTheHighHalf) {
  MemoryProgram program(
      "global_store_d16_hi_b16 v[10:11], v12, off\n global_store_d16_hi_b8 v[10:11], v12, off "
      "offset:256");
  program.fill_target(512);
  for (uint32_t l = 0; l < 32; ++l) {
    program.lanes[l].address = kTarget + 4 * l;
    program.lanes[l].data[0] = 0xabcd0000 + (l << 16) + 0x7777;
  }
  ASSERT_TRUE(program.run());
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.target_at<uint16_t>(4 * l), 0xabcd + l);
    EXPECT_EQ(program.target_at<uint8_t>(256 + 4 * l), static_cast<uint8_t>(0xcd + l));
  }
}

TEST(GlobalOffsets, AreSigned) {
  MemoryProgram program(
      "global_load_b32 v20, v[10:11], off offset:-4096\n"
      "global_load_b32 v21, v[10:11], off offset:4095\n"
      "global_load_b32 v22, v12, s[8:9] offset:-8");
  program.fill_target(16384);
  for (auto& lane : program.lanes) lane = {kTarget + 8192, 0, {16, 0, 0, 0}};
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.results[7][0], program.target_at<uint32_t>(4096));
  EXPECT_EQ(program.results[7][1], program.target_at<uint32_t>(8192 + 4095));
  EXPECT_EQ(program.results[7][2], program.target_at<uint32_t>(8));
}

TEST(GlobalOffsets, OfGfx10AreSignedToo) {
  MemoryProgram program("global_load_dword v20, v[10:11], off offset:-2048", "gfx1030");
  program.fill_target(16384);
  for (auto& lane : program.lanes) lane.address = kTarget + 8192;
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[7][0], program.target_at<uint32_t>(8192 - 2048));
}

TEST(GlobalAddTid, AddressesByLane) {
  MemoryProgram program("global_load_addtid_b32 v20, s[8:9] offset:16");
  program.fill_target(512);
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l][0], program.target_at<uint32_t>(16 + 4 * l));
  }
}

TEST(GlobalWave64, CoversBothHalves) {
  MemoryProgram program("global_load_b64 v[20:21], v[10:11], off", "gfx1100", 64);
  program.fill_target(4096);
  program.exec = 0xf0f0f0f0'0f0f0f0f;
  for (uint32_t l = 0; l < 64; ++l) program.lanes[l].address = kTarget + 8 * l;
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 64; ++l) {
    const bool on = (program.exec >> l & 1) != 0;
    EXPECT_EQ(program.results[l][0], on ? program.target_at<uint32_t>(8 * l) : kPreset) << l;
    EXPECT_EQ(program.results[l][1], on ? program.target_at<uint32_t>(8 * l + 4) : kPreset) << l;
  }
}

// ------------------------------------------------------------------ several extents

TEST(GlobalExtents, LanesMayLieInDifferentOnes) {
  constexpr uint64_t kOther = 0x1000'0000'0000;
  MemoryProgram program("global_load_b64 v[20:21], v[10:11], off");
  program.fill_target(256);
  std::vector<uint32_t> other(64, 0x01020304);
  program.extra.emplace_back(kOther, std::as_writable_bytes(std::span(other)));
  for (uint32_t l = 0; l < 32; ++l) {
    program.lanes[l].address = (l % 2 == 0 ? kTarget : kOther) + 8 * l;
  }
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l][0], l % 2 == 0 ? program.target_at<uint32_t>(8 * l) : 0x01020304);
  }
}

TEST(GlobalExtents, AnElementMayCrossTwo) {
  MemoryProgram program(
      "global_load_b128 v[20:23], v[10:11], off\n s_waitcnt vmcnt(0)\n"
      "global_store_b128 v[10:11], v[12:15], off");
  program.fill_target(64);
  std::vector<std::byte> behind(64, std::byte{0x5a});
  for (uint32_t l = 0; l < 32; ++l) {
    program.lanes[l] = {kTarget + 56, 0, {1, 2, 3, 4}};
  }
  program.extra.emplace_back(kTarget + 64, behind);
  const uint64_t tail = program.target_at<uint64_t>(56);
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (const auto& result : program.results) {
    EXPECT_EQ(result[0], static_cast<uint32_t>(tail));
    EXPECT_EQ(result[1], static_cast<uint32_t>(tail >> 32));
    EXPECT_EQ(result[2], 0x5a5a5a5au);
  }
  EXPECT_EQ(program.target_at<uint64_t>(56), 0x0000000200000001u);
  EXPECT_EQ(behind[0], std::byte{3});
  EXPECT_EQ(behind[4], std::byte{4});
  EXPECT_EQ(behind[8], std::byte{0x5a});
}

// ------------------------------------------------------------------ faults

TEST(GlobalFaults, NameLaneAddressAndNeighbour) {
  MemoryProgram program("global_load_b32 v20, v[10:11], off");
  program.fill_target(128);
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l].address = kTarget + 4 * l;
  program.lanes[13].address = kTarget + 126;  // two bytes beyond
  auto done = program.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, emu::FaultKind::UnmappedAccess);
  ASSERT_TRUE(done.error().wave);
  EXPECT_EQ(done.error().wave->lane, 13u);
  EXPECT_EQ(done.error().address, kTarget + 128);
  EXPECT_FALSE(done.error().is_write);
  EXPECT_THAT(done.error().nearest_allocation, HasSubstr("0 bytes above its end"));
  EXPECT_THAT(done.error().wave->disassembly, HasSubstr("global_load_b32"));
}

TEST(GlobalFaults, StoresNeedPermission) {
  MemoryProgram program("global_store_b32 v[10:11], v12, off");
  program.fill_target(128);
  const auto before = program.target;
  program.target_permissions = kReadOnly;
  for (auto& lane : program.lanes) lane.address = kTarget;
  auto done = program.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, emu::FaultKind::PermissionDenied);
  EXPECT_TRUE(done.error().is_write);
  EXPECT_EQ(program.target, before);
}

TEST(GlobalFaults, AddressesNearTheEndsOfTheSpaceDoNotWrap) {
  for (uint64_t address : {uint64_t{0}, ~uint64_t{0}, ~uint64_t{0} - 3, uint64_t{1} << 63,
                           kTarget - 1, kTarget + 124 + 1}) {
    for (const char* text :
         {"global_load_b32 v20, v[10:11], off", "global_load_b128 v[20:23], v[10:11], off",
          "global_store_b64 v[10:11], v[12:13], off"}) {
      MemoryProgram program(text);
      program.fill_target(128);
      for (auto& lane : program.lanes) lane.address = address;
      auto done = program.run();
      ASSERT_FALSE(done) << text << " at " << address;
      EXPECT_EQ(done.error().kind, emu::FaultKind::UnmappedAccess);
    }
  }
}

}  // namespace
}  // namespace doppel::oracle
