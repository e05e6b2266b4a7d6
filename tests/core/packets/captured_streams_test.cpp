// What real clients send to real hardware decodes without a complaint and re-encodes bit for bit.
#include <gtest/gtest.h>

#include "core/packets/packet.h"
#include "core/packets/validate.h"
#include "tests/core/packets/random_packet.h"
#include "tests/core/packets/shared_facts.h"

namespace doppel::packets {
namespace {

class CapturedStream : public testing::TestWithParam<const char*> {};

TEST_P(CapturedStream, EveryPacketIsWellFormed) {
  DOPPEL_SKIP_WITHOUT(GetParam());
  const auto captured = test::load_capture(GetParam());
  ASSERT_GT(captured.size(), 100u);
  for (const auto& [language, place, dwords] : captured) {
    SCOPED_TRACE(place);
    const Packet packet = next_packet(language, dwords, GfxFamily::Gfx11);
    EXPECT_EQ(packet.size, dwords.size());
    for (const Problem& problem : validate(packet)) ADD_FAILURE() << problem.message;
    EXPECT_EQ(test::rebuild(packet), dwords);
  }
}

INSTANTIATE_TEST_SUITE_P(Clients, CapturedStream,
                         testing::Values("streams/tinygrad-2024-07-gfx1100.txt",
                                         "streams/tinygrad-2026-08-gfx1100.txt"),
                         [](const auto& instance) {
                           return std::string(instance.param).substr(17, 4);
                         });

}  // namespace
}  // namespace doppel::packets
