// Properties of every row on every family, with random packets: what a builder makes decodes to the
// same fields, and no bit of a packet can change without the decoder or the validator noticing.
#include <gtest/gtest.h>

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
