#include "tools/vectors/isa_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/isa_case_builder.h"

namespace doppel::vectors {
namespace {

using ::testing::HasSubstr;

TEST(IsaCase, ReadsEveryPartOfARecord) {
  RecordParts parts{.id = 12,
                    .arch = 4,
                    .flags = IsaCase::kApproximate,
                    .lanes = 3,
                    .layout = 1,
                    .wave_size = 64,
                    .float_type = 3,
                    .ulp = 5,
                    .body_offset = 4,
                    .body_size = 4,
                    .name = "abcde",
                    .code = {1, 2},
                    .expected = {3},
                    .mask = {0x02010000},
                    .input = {5, 6, 7}};
  auto cases = parse_isa_cases(build_record(parts));
  ASSERT_TRUE(cases) << cases.error().to_string();
  ASSERT_EQ(cases->size(), 1u);
  const IsaCase& one = cases->front();
  EXPECT_EQ(one.id, 12u);
  EXPECT_EQ(one.arch, IsaCaseArch::Rdna4);
  EXPECT_TRUE(one.approximate());
  EXPECT_EQ(one.block, (std::array<uint32_t, 3>{3, 1, 1}));
  EXPECT_EQ(one.grid, (std::array<uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(one.rsrc1, 0x00ac003fu);
  EXPECT_EQ(one.rsrc2, 0x84u);
  EXPECT_EQ(one.scratch_bytes_per_lane, 65536u);
  EXPECT_EQ(one.lds_bytes, 65536u);
  EXPECT_EQ(one.layout, OutputLayout::Lanes1);
  EXPECT_EQ(one.wave_size, 64u);
  EXPECT_EQ(one.float_type, FloatType::F64);
  EXPECT_EQ(one.ulp, 5u);
  EXPECT_EQ(one.name, "abcde");
  EXPECT_EQ(one.code.size(), 8u);
  EXPECT_EQ(one.body().front(), std::byte{2});
  EXPECT_EQ(one.expected.front(), std::byte{3});
  EXPECT_TRUE(one.hardware_checked());
  EXPECT_EQ(one.input.size(), 12u);
}

TEST(IsaCase, ReadsRecordsOneAfterTheOther) {
  auto set = build_record({.id = 1, .name = "odd"});
  const auto second = build_record({.id = 2});
  set.insert(set.end(), second.begin(), second.end());
  auto cases = parse_isa_cases(set);
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ(cases->at(1).id, 2u);
}

TEST(IsaCase, RefusesEveryTruncation) {
  const auto record = build_record({.expected = {1, 2}, .mask = {0, 0}, .input = {3}});
  for (size_t size = 1; size < record.size(); ++size) {
    const auto cases = parse_isa_cases(std::span(record).first(size));
    ASSERT_FALSE(cases) << size;
    EXPECT_EQ(cases.error().code(), StatusCode::Malformed);
  }
}

TEST(IsaCase, RefusesWhatItDoesNotKnow) {
  const auto why = [](const RecordParts& parts) {
    auto cases = parse_isa_cases(build_record(parts));
    return cases ? "" : cases.error().message();
  };
  EXPECT_THAT(why({.arch = 5}), HasSubstr("architecture"));
  EXPECT_THAT(why({.layout = 2}), HasSubstr("layout"));
  EXPECT_THAT(why({.wave_size = 33}), HasSubstr("wave size"));
  EXPECT_THAT(why({.float_type = 9}), HasSubstr("float type"));
  EXPECT_THAT(why({.body_offset = 8}), HasSubstr("body"));
  EXPECT_THAT(why({.body_offset = 4, .body_size = 0xffffffff}), HasSubstr("body"));
  auto other_magic = build_record({});
  other_magic[0] = std::byte{0};
  EXPECT_THAT(parse_isa_cases(other_magic).error().message(), HasSubstr("magic"));
}

TEST(IsaCase, NamesItsOutputs) {
  IsaCase one{.block = {4, 1, 1}};
  EXPECT_EQ(one.output_name(0), "v0 lane 0");
  EXPECT_EQ(one.output_name(4 * (4 * 3 + 2)), "v3 lane 2");
  EXPECT_EQ(one.output_name(4 * 64), "s0");
  EXPECT_EQ(one.output_name(4 * (64 + 15)), "s15");
  EXPECT_EQ(one.output_name(4 * (64 + 16)), "vcc_lo");
  EXPECT_EQ(one.output_name(4 * (64 + 17)), "scc");
  EXPECT_EQ(one.output_name(4 * (64 + 18)), "exec_lo");
  one.layout = OutputLayout::Lanes1;
  EXPECT_EQ(one.output_name(8), "lane 2");
}

}  // namespace
}  // namespace doppel::vectors
