// Properties of every row on every family, with random packets: what a builder makes decodes to the
// same fields, and no bit of a packet can change without the decoder or the validator noticing.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/command_stream.h"
#include "core/packets/dump.h"
#include "tests/core/packets/random_packet.h"

namespace doppel::packets {
namespace {

constexpr GfxFamily kFamilies[] = {GfxFamily::Gfx9_4, GfxFamily::Gfx10_3, GfxFamily::Gfx11,
                                   GfxFamily::Gfx11_5, GfxFamily::Gfx12};

template <class Check>
void for_each_row(Check&& check) {
  for (std::span<const PacketRow> rows : {pm4::rows(), sdma::rows(), aql::rows()}) {
    for (const PacketRow& row : rows) {
      for (GfxFamily family : kFamilies) {
        SCOPED_TRACE(std::string(row.name) + " on " + std::string(to_string(family)));
        if (row.length.in(family).present()) check(row, family);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(RoundTrip, DecodedPacketsEncodeToTheSameDwords) {
  Prng prng(1);
  for_each_row([&](const PacketRow& row, GfxFamily family) {
    for (int round = 0; round < 200; ++round) {
      const std::vector<uint32_t> dwords = test::random_packet(row, family, prng);
      const Packet packet = next_packet(row.language, dwords, family);
      ASSERT_TRUE(packet.ok()) << packet.error->message;
      ASSERT_EQ(packet.row, &row);
      ASSERT_EQ(packet.size, dwords.size());
      for (const Problem& problem : validate(packet)) FAIL() << problem.message << dump(packet);
      ASSERT_EQ(test::rebuild(packet), dwords) << dump(packet);
    }
  });
}

/// Which fields the packet has, and its size: what a patch must not change.
std::string shape(const Packet& packet) {
  std::string text = packet.name() + " " + std::to_string(packet.size);
  for (const FieldText& field : describe_fields(packet))
    text += " " + std::string(field.field->name);
  return text;
}

// decode(patched) == encode(fresh), for every field of every packet: a Patch changes that field
// alone, and the packet is then what the builder makes of the decoded fields.
TEST(RoundTrip, APatchedFieldIsAsEncodedAfresh) {
  Prng prng(5);
  size_t patched_fields = 0;
  std::set<std::string> selectors;
  for_each_row([&](const PacketRow& row, GfxFamily family) {
    for (const Field& field : row.fields) {
      const FieldLocation& location = field.columns.in(family);
      bool is_patched = false;
      for (int round = 0; round < 20; ++round) {
        std::vector<uint32_t> dwords = test::random_packet(row, family, prng);
        const Packet packet = next_packet(row.language, dwords, family);
        if (!has_field(packet, field) || test::is_header(field, location)) continue;
        const std::string before = shape(packet);
        std::vector<FieldText> expected = describe_fields(packet);
        const uint64_t value = test::random_value(field, location, family, prng);

        Patch<uint64_t>(0, location).set(dwords, value);
        const Packet patched = next_packet(row.language, dwords, family);
        if (shape(patched) != before) {
          selectors.insert(std::string(row.name) + "." + std::string(field.name));
          continue;
        }
        is_patched = true;
        const std::vector<FieldText> actual = describe_fields(patched);
        for (size_t i = 0; i < actual.size(); ++i)
          ASSERT_EQ(actual[i].value, actual[i].field == &field ? value : expected[i].value)
              << field.name << " changes " << actual[i].field->name;
        ASSERT_EQ(test::rebuild(patched), dwords) << field.name << "\n" << dump(patched);
      }
      patched_fields += is_patched;
    }
  });
  EXPECT_GT(patched_fields, 1000u);
  // Fields that decide which others there are, or how long the packet is: never patched alone.
  EXPECT_THAT(
      selectors,
      testing::ElementsAre("COPY_DATA.dst_sel", "COPY_DATA.src_sel", "COPY_LINEAR.cpv", "NOP.count",
                           "POLL_REGMEM.mem_poll", "WAIT_REG_MEM.mem_space",
                           "WAIT_REG_MEM.operation", "WRITE_DATA.dst_sel", "WRITE_UNTILED.count"));
}

/// Everything that the decoder sees in a packet, as text.
std::string meaning(const Packet& packet) {
  std::string text = packet.name() + " " + std::to_string(packet.size);
  for (const FieldText& field : describe_fields(packet)) {
    text += " " + std::string(field.field->name) + "=" + std::to_string(field.value);
  }
  for (uint32_t dword : packet.payload()) text += " " + std::to_string(dword);
  return text;
}

TEST(RoundTrip, NoBitChangesUnnoticed) {
  Prng prng(2);
  for_each_row([&](const PacketRow& row, GfxFamily family) {
    std::vector<uint32_t> dwords = test::random_packet(row, family, prng);
    const std::string before = meaning(next_packet(row.language, dwords, family));
    for (size_t bit = 0; bit < dwords.size() * 32; ++bit) {
      dwords[bit / 32] ^= 1u << bit % 32;
      const Packet mutant = next_packet(row.language, dwords, family);
      ASSERT_TRUE(!is_valid(mutant) || meaning(mutant) != before)
          << "dword " << bit / 32 << " bit " << bit % 32 << "\n"
          << dump(mutant);
      dwords[bit / 32] ^= 1u << bit % 32;
    }
  });
}

TEST(RoundTrip, EveryCutIsTruncated) {
  Prng prng(3);
  for_each_row([&](const PacketRow& row, GfxFamily family) {
    const std::vector<uint32_t> dwords = test::random_packet(row, family, prng);
    for (size_t cut = 1; cut < dwords.size(); ++cut) {
      const Packet packet = next_packet(row.language, std::span(dwords).first(cut), family);
      ASSERT_FALSE(packet.ok());
      ASSERT_EQ(packet.error->kind, ProblemKind::Truncated);
      ASSERT_GT(packet.size, cut);
    }
  });
}

// Random dwords neither crash nor hang the walk, and it covers the whole stream.
TEST(RoundTrip, NoiseIsWalkedToItsEnd) {
  Prng prng(4);
  for (Language language : {Language::Pm4, Language::Sdma, Language::Aql}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<uint32_t> noise(1 + prng.below(100));
      for (uint32_t& dword : noise) {
        dword = static_cast<uint32_t>(prng.next());
        if (prng.below(2)) dword &= 0x0000ffff;
        if (language == Language::Pm4 && prng.below(2)) dword = 0xc0000000 | (dword & 0x3ffff);
      }
      std::string text = dump_stream(language, noise, GfxFamily::Gfx11);
      EXPECT_FALSE(text.empty());
    }
  }
}

}  // namespace
}  // namespace doppel::packets
