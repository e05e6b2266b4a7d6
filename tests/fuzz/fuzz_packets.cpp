// Any dwords as a packet stream of any language and family: the decoder covers them to the end, and
// what it calls a whole packet validates, lints, prints and reads through its accessors.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/assert.h"
#include "core/packets/dump.h"
#include "core/packets/lint.h"
#include "core/packets/validate.h"

namespace {

using namespace doppel;
using namespace doppel::packets;

void check_packet(const Packet& packet, std::span<const uint32_t> rest) {
  DOPPEL_ASSERT(packet.dwords.size() <= rest.size(), "a packet reaches beyond its stream");
  DOPPEL_ASSERT(!packet.ok() || packet.size == packet.dwords.size(), "a whole packet is cut");
  DOPPEL_ASSERT(!packet.ok() || packet.size > 0, "a whole packet has no dwords");
  std::vector<Problem> problems;
  validate(packet, problems);
  DOPPEL_ASSERT(problems.empty() == is_valid(packet), "the two validators disagree");
  lint(packet, problems);
  DOPPEL_ASSERT(!dump(packet).empty(), "a packet prints as nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto language = static_cast<Language>(data[0] % 3);
  constexpr GfxFamily kFamilies[] = {GfxFamily::Gfx9_4, GfxFamily::Gfx10_3, GfxFamily::Gfx11,
                                     GfxFamily::Gfx11_5, GfxFamily::Gfx12};
  const GfxFamily family = kFamilies[data[1] % std::size(kFamilies)];
  std::vector<uint32_t> dwords((size - 2) / sizeof(uint32_t));
  if (dwords.empty()) return 0;
  std::memcpy(dwords.data(), data + 2, dwords.size() * sizeof(uint32_t));
  const std::span<const uint32_t> stream(dwords);
  PacketCursor cursor(language, stream, family);
  while (!cursor.done()) {
    const size_t before = cursor.offset();
    check_packet(cursor.packet(), stream.subspan(before));
    if (cursor.packet().ok()) {
      cursor.advance();
    } else {
      cursor.resync();
    }
    DOPPEL_ASSERT(cursor.offset() > before, "the cursor stands still");
  }
  DOPPEL_ASSERT(cursor.offset() == stream.size(), "the cursor has left the stream");
  return 0;
}
