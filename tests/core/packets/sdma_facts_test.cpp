// Every op, sub-op and field of the SDMA rows against the kernel's packet headers, both ways: no
// fact without a row, no field without a fact.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/packets/sdma.h"
#include "tests/core/packets/shared_facts.h"

namespace doppel::packets {
namespace {

class SdmaFacts : public testing::TestWithParam<test::FactFile> {};

const Field* find_field(const PacketRow& row, std::string_view name) {
  for (const Field& field : row.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// The headers' names that the rows shorten.
std::string row_name(const std::string& fact) {
  static const std::map<std::string, std::string> kNames = {{"src_addr", "src_address"},
                                                            {"dst_addr", "dst_address"},
                                                            {"addr", "address"},
                                                            {"write_addr", "address"}};
  const auto name = kNames.find(fact);
  return name == kNames.end() ? fact : name->second;
}

/// The bits that the fact gives a field, as a mask over the pair of dwords from the field's first.
uint64_t fact_bits(const nlohmann::json& fact, const FieldLocation& location) {
  const uint64_t bits = fact["mask"].get<uint64_t>() << fact["shift"].get<unsigned>();
  return fact["offset"].get<unsigned>() == location.dword ? bits : bits << 32;
}

/// Fields that no header has: named after what the kernel's sdma_v7_0.c writes, or a second meaning
/// of dwords that a header names once.
const std::set<std::string> kWithoutFact = {"compression", "reg_poll_addr", "reg_write_addr",
                                            "sub_op"};

/// Facts are named PACKET_DWORD_field: the packets are those with an op in their header.
std::set<std::string> packet_names(const nlohmann::json& facts) {
  constexpr std::string_view kHeader = "_HEADER_op";
  std::set<std::string> names;
  for (const auto& [key, fact] : facts.items()) {
    if (key.ends_with(kHeader)) names.insert(key.substr(0, key.size() - kHeader.size()));
  }
  return names;
}

/// The packet with the longest name that the fact's begins with: COPY_LINEAR_SUBWIN, not
/// COPY_LINEAR.
std::string packet_of(const std::string& key, const std::set<std::string>& packets) {
  std::string longest;
  for (const std::string& packet : packets) {
    if (key.starts_with(packet + "_") && packet.size() > longest.size()) longest = packet;
  }
  return longest;
}

/// The field without the bits of it that the dword holds: "src_addr" of "..._LO_src_addr_31_0".
std::string field_of(const std::string& key) {
  size_t start = key.find('_');
  while (start + 1 < key.size() && !std::islower(static_cast<unsigned char>(key[start + 1]))) {
    start = key.find('_', start + 1);
  }
  std::string name = key.substr(start + 1);
  for (std::string_view part : {"_31_0", "_31_3", "_31_7", "_63_32", "_47_32"}) {
    if (name.ends_with(part)) name.resize(name.size() - part.size());
  }
  return name;
}

TEST_P(SdmaFacts, FieldsAgree) {
  DOPPEL_SKIP_WITHOUT(GetParam().file);
  const auto facts = test::load_json(GetParam().file)["fields"];
  const std::set<std::string> packets = packet_names(facts);
  size_t compared = 0;
  for (const PacketRow& row : sdma::rows()) {
    if (!row.length.in(GetParam().family).present()) continue;
    std::map<std::string, uint64_t> expected;  // field -> bits
    uint64_t gcr_facts = 0, gcr_fields = 0;    // of dwords 2 and 3
    const std::string prefix = std::string(row.name) + "_";
    for (const auto& [key, fact] : facts.items()) {
      if (packet_of(key, packets) != row.name) continue;
      std::string name = field_of(key);
      if (name == "op" || name == "sub_op" || name == "data0") continue;
      if (name.starts_with("gcr_control")) {
        gcr_facts |= (fact["mask"].get<uint64_t>() << fact["shift"].get<unsigned>())
                     << (fact["offset"] == 3 ? 32 : 0);
        continue;
      }
      name = row_name(name);
      const Field* field = find_field(row, name);
      ASSERT_NE(field, nullptr) << key;
      expected[name] |= fact_bits(fact, field->columns.in(GetParam().family));
      ++compared;
    }
    for (const Field& field : row.fields) {
      const FieldLocation& location = field.columns.in(GetParam().family);
      const std::string where = prefix + std::string(field.name);
      if (field.name.starts_with("gcr_")) {
        gcr_fields |= location.mask << (location.dword == 3 ? 32 : 0);
        continue;
      }
      if (kWithoutFact.contains(std::string(field.name))) continue;
      // A row's address keeps the bits below its alignment, to complain about them.
      const uint64_t below = field.kind == FieldKind::Address ? field.align - 1 : 0;
      const auto fact = expected.find(std::string(field.name));
      if (fact == expected.end()) {
        EXPECT_FALSE(location.present()) << where << " is in no header";
      } else {
        EXPECT_EQ(location.mask & ~below, fact->second & ~below) << where;
      }
    }
    EXPECT_EQ(gcr_fields, gcr_facts) << row.name;
  }
  EXPECT_GT(compared, 80u);
}

TEST_P(SdmaFacts, OpcodesAgree) {
  DOPPEL_SKIP_WITHOUT(GetParam().file);
  const auto facts = test::load_json(GetParam().file);
  struct {
    sdma::Id id;
    const char* op;
    const char* sub_op;
  } const kCodes[] = {
      {sdma::Id::Nop, "NOP", nullptr},
      {sdma::Id::CopyLinear, "COPY", "COPY_LINEAR"},
      {sdma::Id::CopyLinearSubwin, "COPY", "COPY_LINEAR_SUB_WIND"},
      {sdma::Id::WriteLinear, "WRITE", "WRITE_LINEAR"},
      {sdma::Id::ConstantFill, "CONST_FILL", nullptr},
      {sdma::Id::Fence, "FENCE", nullptr},
      {sdma::Id::Trap, "TRAP", nullptr},
      {sdma::Id::PollRegmem, "POLL_REGMEM", nullptr},
      {sdma::Id::Atomic, "ATOMIC", nullptr},
      {sdma::Id::TimestampSet, "TIMESTAMP", "TIMESTAMP_SET"},
      {sdma::Id::TimestampGet, "TIMESTAMP", "TIMESTAMP_GET"},
      {sdma::Id::TimestampGetGlobal, "TIMESTAMP", "TIMESTAMP_GET_GLOBAL"},
      {sdma::Id::GcrReq, "GCR", nullptr},
      {sdma::Id::CondExe, "COND_EXE", nullptr},
      {sdma::Id::Indirect, "INDIRECT", nullptr},
  };
  ASSERT_EQ(std::size(kCodes), sdma::rows().size());
  for (const auto& [id, op, sub_op] : kCodes) {
    const PacketRow& row = sdma::rows()[static_cast<size_t>(id)];
    EXPECT_EQ(row.opcode, facts["ops"][op].get<int>()) << row.name;
    EXPECT_EQ(row.sub_opcode, sub_op ? facts["subops"][sub_op].get<int>() : 0) << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Headers, SdmaFacts,
                         testing::Values(test::FactFile{"hw/sdma_4_0_0.json", GfxFamily::Gfx9_4},
                                         test::FactFile{"hw/sdma_5_0_0.json", GfxFamily::Gfx10_3},
                                         test::FactFile{"hw/sdma_6_0_0.json", GfxFamily::Gfx11},
                                         test::FactFile{"hw/sdma_6_0_0.json", GfxFamily::Gfx12}),
                         [](const auto& instance) {
                           std::string name(to_string(instance.param.family));
                           std::erase(name, '.');
                           return name;
                         });

}  // namespace
}  // namespace doppel::packets
