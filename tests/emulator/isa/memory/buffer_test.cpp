// MUBUF and MTBUF: range checks, strides, swizzles, formats, atomics.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "emulator/isa/buffer_format.h"
#include "emulator/isa/buffer_resource.h"
#include "tests/emulator/isa/memory/memory_program.h"
#include "tests/emulator/isa/oracle/exact_float.h"

namespace doppel::oracle {
namespace {

constexpr uint32_t kSelectXyzw = 4 | 5 << 3 | 6 << 6 | 7 << 9;
constexpr uint32_t kRaw = 3u << 28;
constexpr uint32_t kStructured = 1u << 28;
constexpr uint32_t kStructuredWithOffset = 0;

/// Builds the resource in s[12:15] over the target buffer, then runs `body`.
std::string with_resource(uint32_t stride_word, uint32_t records, uint32_t word3,
                          const std::string& body) {
  return fmt::format(R"(
    s_mov_b32 s12, s8
    s_or_b32 s13, s9, 0x{:x}
    s_mov_b32 s14, 0x{:x}
    s_mov_b32 s15, 0x{:x}
    {}
)",
                     stride_word, records, word3 | kSelectXyzw, body);
}

TEST(RawBuffer, ChecksEachDword) {
  MemoryProgram program(with_resource(0, 40, kRaw,
                                      "buffer_load_b64 v[20:21], v10, s[12:15], 0 offen\n"
                                      "buffer_load_b32 v22, v10, s[12:15], 0 offen offset:4\n"
                                      "buffer_load_u8 v23, v10, s[12:15], 0 offen offset:3\n"
                                      "buffer_store_b64 v[12:13], v10, s[12:15], 0 offen"));
  program.fill_target(256);
  const auto before = program.target;
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {4 * l, 0, {100 + l, 200 + l, 0, 0}};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  const auto word = [&](uint32_t at) {
    uint32_t value = 0;
    if (at + 4 <= 40) std::memcpy(&value, before.data() + at, 4);
    return value;
  };
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l][0], word(4 * l)) << l;
    EXPECT_EQ(program.results[l][1], word(4 * l + 4)) << l;
    EXPECT_EQ(program.results[l][2], word(4 * l + 4)) << l;
    EXPECT_EQ(program.results[l][3], word(4 * l) >> 24) << l;
  }
  EXPECT_EQ(program.target_at<uint32_t>(36), 109u) << "lane 9's first dword";
  EXPECT_EQ(program.target_at<uint32_t>(32), 108u);
  EXPECT_TRUE(std::equal(before.begin() + 40, before.end(), program.target.begin() + 40));
}

TEST(RawBuffer, CountsTheScalarOffset) {
  MemoryProgram program(
      with_resource(0, 64, kRaw,
                    "s_mov_b32 s16, 32\n buffer_load_b32 v20, v10, s[12:15], s16 offen\n"
                    "buffer_load_b32 v21, off, s[12:15], s16\n"
                    "buffer_load_b32 v22, off, s[12:15], 4"));
  program.fill_target(256);
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l].address = 4 * l;
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[7][0], program.target_at<uint32_t>(60));
  EXPECT_EQ(program.results[8][0], 0u);
  EXPECT_EQ(program.results[8][1], program.target_at<uint32_t>(32));
  EXPECT_EQ(program.results[8][2], program.target_at<uint32_t>(4));
}

TEST(StructuredBuffer, ChecksIndexAndOffset) {
  const std::string body =
      "buffer_load_b32 v20, v10, s[12:15], 0 idxen\n"
      "buffer_load_b32 v21, v[12:13], s[12:15], 0 idxen offen";
  for (uint32_t select : {kStructured, kStructuredWithOffset}) {
    MemoryProgram program(with_resource(16 << 16, 4, select, body));
    program.fill_target(4096);
    for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {l, 0, {l % 8, 4 * (l / 8) + 8, 0, 0}};
    auto done = program.run();
    ASSERT_TRUE(done) << done.error().to_string();
    for (uint32_t l = 0; l < 32; ++l) {
      EXPECT_EQ(program.results[l][0], l < 4 ? program.target_at<uint32_t>(16 * l) : 0) << l;
      const uint32_t offset = 4 * (l / 8) + 8;
      const bool inside = l % 8 < 4 && (select == kStructured || offset + 4 <= 16);
      EXPECT_EQ(program.results[l][1],
                inside ? program.target_at<uint32_t>(16 * (l % 8) + offset) : 0)
          << l;
    }
  }
}

TEST(StructuredBuffer, AddsTheLanesNumber) {
  MemoryProgram program(
      with_resource(8 << 16, 20, kStructured | 1u << 23, "buffer_load_b32 v20, off, s[12:15], 0"));
  program.fill_target(512);
  ASSERT_TRUE(program.run());
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(program.results[l][0], l < 20 ? program.target_at<uint32_t>(8 * l) : 0) << l;
  }
}

// Elements of 4 bytes of 8 neighbours lie side by side.
TEST(SwizzledBuffer, InterleavesElements) {
  constexpr uint32_t kStride = 16, kIndexStride = 8;
  const uint32_t word1 = kStride << 16 | 1u << 30;  // gfx11: element size 4
  MemoryProgram program(
      with_resource(word1, 32, kStructured,
                    "buffer_store_b64 v[12:13], v[14:15], s[12:15], 0 idxen offen\n"
                    "buffer_load_b64 v[20:21], v[14:15], s[12:15], 0 idxen offen"));
  program.fill_target(1024);
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l].data = {l, 100 + l, l, 4};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  for (uint32_t l = 0; l < 32; ++l) {
    const auto place = [&](uint32_t offset) {
      return (l / kIndexStride * kStride + offset / 4 * 4) * kIndexStride + l % kIndexStride * 4;
    };
    EXPECT_EQ(program.target_at<uint32_t>(place(4)), l);
    EXPECT_EQ(program.target_at<uint32_t>(place(8)), 100 + l);
    EXPECT_EQ(program.results[l][0], l);
    EXPECT_EQ(program.results[l][1], 100 + l);
  }
}

TEST(SwizzledBuffer, OfGfx10HasOneBit) {
  const uint32_t words[4] = {0, 16u << 16 | 1u << 31, 32, 2u << 21};
  const auto gfx10 = isa::BufferResource::parse(GfxFamily::Gfx10_3, words);
  EXPECT_EQ(gfx10.element_bytes, 4u);
  EXPECT_EQ(gfx10.index_stride, 32u);
  const uint32_t gfx11_words[4] = {0, 16u << 16 | 3u << 30, 32, 0};
  EXPECT_EQ(isa::BufferResource::parse(GfxFamily::Gfx11, gfx11_words).element_bytes, 16u);
}

TEST(EmptyBuffer, RefusesAll) {
  MemoryProgram program(with_resource(0, 0, 2u << 28, "buffer_load_b32 v20, off, s[12:15], 0"));
  program.fill_target(64);
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.results[0][0], 0u);
}

TEST(BufferFaults, UnmappedMemoryInRange) {
  MemoryProgram program(
      with_resource(0, 0x1000, kRaw, "buffer_load_b32 v20, v10, s[12:15], 0 offen"));
  program.fill_target(64);
  for (auto& lane : program.lanes) lane.address = 128;
  auto done = program.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, emu::FaultKind::UnmappedAccess);
}

TEST(BufferAtomics, SkipLanesOutOfRange) {
  MemoryProgram program(with_resource(0, 8, kRaw,
                                      "buffer_atomic_add_u32 v12, v10, s[12:15], 0 offen glc\n"
                                      "s_waitcnt vmcnt(0)\n v_mov_b32 v20, v12"));
  program.target.resize(64);
  program.set_target<uint32_t>(0, 1000);
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {l < 30 ? 0u : 8u, 0, {1, 0, 0, 0}};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.target_at<uint32_t>(0), 1030u);
  EXPECT_EQ(program.results[29][0], 1029u);
  EXPECT_EQ(program.results[30][0], 0u);
}

TEST(BufferLds, LoadsIntoLdsOnGfx10) {
  MemoryProgram program(with_resource(0, 256, kRaw,
                                      "s_mov_b32 m0, 64\n"
                                      "buffer_load_dword v10, s[12:15], 0 offen lds\n"
                                      "s_waitcnt vmcnt(0)\n ds_read_b32 v20, v12 offset:64"),
                        "gfx1030");
  program.fill_target(256);
  for (uint32_t l = 0; l < 32; ++l) program.lanes[l] = {4 * (31 - l), 0, {4 * l, 0, 0, 0}};
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[3][0], program.target_at<uint32_t>(4 * 28));
}

// ------------------------------------------------------------------ formats

TEST(TypedBuffer, LoadsAndStoresEveryComponent) {
  MemoryProgram program(with_resource(
      0, 256, kRaw,
      "tbuffer_load_format_xyzw v[20:23], v10, s[12:15], 0 format:[BUF_FMT_8_8_8_8_UNORM] offen\n"
      "s_waitcnt vmcnt(0)\n"
      "tbuffer_store_format_xyzw v[20:23], v10, s[12:15], 0 format:[BUF_FMT_16_16_16_16_FLOAT] "
      "offen offset:128"));
  program.fill_target(256);
  program.exec = 1;
  program.set_target<uint32_t>(0, 0xff800040);
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(std::bit_cast<float>(program.results[0][0]), 64.f / 255);
  EXPECT_EQ(std::bit_cast<float>(program.results[0][1]), 0.f);
  EXPECT_EQ(std::bit_cast<float>(program.results[0][2]), 128.f / 255);
  EXPECT_EQ(std::bit_cast<float>(program.results[0][3]), 1.f);
  EXPECT_EQ(program.target_at<uint16_t>(128 + 6), 0x3c00);
  EXPECT_EQ(program.target_at<uint16_t>(128), isa::to_half_bits(64.f / 255));
}

TEST(TypedBuffer, TakesFormatAndSelectionFromTheResource) {
  // 16_16_SINT is 28 on gfx11. x := y, y := 1, z := x, w := missing component w.
  constexpr uint32_t kSelect = 5 | 1 << 3 | 4 << 6 | 7 << 9;
  MemoryProgram program(fmt::format(R"(
    s_mov_b64 s[12:13], s[8:9]
    s_mov_b32 s14, 64
    s_mov_b32 s15, 0x{:x}
    buffer_load_format_xyzw v[20:23], off, s[12:15], 0
)",
                                    kRaw | 28u << 12 | kSelect));
  program.fill_target(64);
  program.set_target<uint32_t>(0, 0x0005fffe);
  ASSERT_TRUE(program.run());
  EXPECT_EQ(program.results[0], (std::array<uint32_t, 4>{5, 1, 0xfffffffe, 1}));
}

TEST(TypedBuffer, PacksD16) {
  MemoryProgram program(with_resource(
      0, 64, kRaw,
      "tbuffer_load_d16_format_xyz v[20:21], off, s[12:15], 0 format:[BUF_FMT_32_32_32_FLOAT]\n"
      "tbuffer_load_d16_format_x v22, off, s[12:15], 0 format:[BUF_FMT_8_SINT] offset:12"));
  program.fill_target(64);
  program.set_target(0, std::array{1.5f, -2.0f, 0.25f});
  program.set_target<uint8_t>(12, 0x80);
  auto done = program.run();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(program.results[0][0], 0xc0003e00u);
  EXPECT_EQ(program.results[0][1], 0xdddd3400u);
  EXPECT_EQ(program.results[0][2], 0xddddff80u);
}

TEST(BufferFormats, HaveTheNumbersThatLlvmKnows) {
  for (auto [cpu, family] :
       {std::pair{"gfx1030", GfxFamily::Gfx10_3}, {"gfx1100", GfxFamily::Gfx11}}) {
    std::vector<std::string> lines;
    std::vector<uint32_t> numbers;
    for (uint32_t number = 1; number < 128; ++number) {
      const auto name = isa::buffer_format_name(family, number);
      if (name.empty()) continue;
      numbers.push_back(number);
      lines.push_back(
          fmt::format("tbuffer_load_format_x v0, off, s[0:3], s0 format:[BUF_FMT_{}]", name));
    }
    const auto encoded = LlvmMc(cpu).assemble(lines);
    for (size_t i = 0; i < lines.size(); ++i) {
      ASSERT_TRUE(encoded[i]) << cpu << " " << lines[i];
      EXPECT_EQ(encoded[i]->front() >> 19 & 0x7f, numbers[i]) << lines[i];
    }
    EXPECT_EQ(lines.size(), family == GfxFamily::Gfx10_3 ? 77u : 63u);
  }
}

TEST(BufferFormats, ConvertHalvesExactly) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = isa::from_half_bits(static_cast<uint16_t>(half));
    if (kF16.is_nan(half)) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    ASSERT_EQ(isa::to_half_bits(value), half);
    if (kF16.is_infinite(half)) continue;
    ASSERT_EQ(Exact::from_float(kF16, half).to_float(kF32, Rounding::NearestEven, half >> 15 != 0),
              std::bit_cast<uint32_t>(value));
  }
  for (uint32_t bits :
       {0x3f801000u, 0x3f803000u, 0x477ff000u, 0x33000001u, 0x387fffffu, 0x80000001u}) {
    EXPECT_EQ(isa::to_half_bits(std::bit_cast<float>(bits)),
              Exact::from_float(kF32, bits).to_float(kF16, Rounding::NearestEven, bits >> 31 != 0))
        << bits;
  }
}

TEST(BufferFormats, RoundTripEveryComponent) {
  for (uint32_t number = 1; number < 78; ++number) {
    const auto* format = isa::find_buffer_format(GfxFamily::Gfx10_3, number);
    ASSERT_NE(format, nullptr) << number;
    for (uint32_t i = 0; i < format->components(); ++i) {
      std::array<std::byte, 16> element{};
      const auto bytes = std::span(element).first(format->bytes());
      // 1 is representable in all; neighbours stay 0.
      const uint32_t one = format->is_integer() ? 1 : std::bit_cast<uint32_t>(1.0f);
      format->pack(bytes, i, one);
      EXPECT_EQ(format->unpack(bytes, i), one) << format->name << " component " << i;
      for (uint32_t j = 0; j < format->components(); ++j) {
        if (j != i) {
          EXPECT_EQ(format->unpack(bytes, j), 0u) << format->name;
        }
      }
    }
  }
}

TEST(BufferFormats, ClampWhatDoesNotFit) {
  const auto pack = [](uint32_t number, uint32_t value) {
    const auto* format = isa::find_buffer_format(GfxFamily::Gfx10_3, number);
    uint32_t element = 0;
    format->pack(std::as_writable_bytes(std::span(&element, 1)).first(format->bytes()), 0, value);
    return element;
  };
  const auto f = [](float value) { return std::bit_cast<uint32_t>(value); };
  EXPECT_EQ(pack(1, f(2.0f)), 0xffu);  // 8_UNORM
  EXPECT_EQ(pack(1, f(-1.0f)), 0u);
  EXPECT_EQ(pack(1, f(NAN)), 0u);
  EXPECT_EQ(pack(2, f(-5.0f)), 0x81u);        // 8_SNORM
  EXPECT_EQ(pack(3, f(300.0f)), 0xffu);       // 8_USCALED
  EXPECT_EQ(pack(4, f(-300.0f)), 0x80u);      // 8_SSCALED
  EXPECT_EQ(pack(5, 300), 0xffu);             // 8_UINT
  EXPECT_EQ(pack(6, 0xffffff00), 0x80u);      // 8_SINT
  EXPECT_EQ(pack(36, f(-1.0f)) & 0x7ff, 0u);  // 10_11_11_FLOAT has no sign
}

}  // namespace
}  // namespace doppel::oracle
