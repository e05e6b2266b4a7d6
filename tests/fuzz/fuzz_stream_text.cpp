// Any bytes as a stream file: reading, walking, printing and comparing it with itself.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/assert.h"
#include "tools/streams/stream_diff.h"
#include "tools/streams/stream_file.h"
#include "tools/streams/stream_print.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace doppel;
  using namespace doppel::streams;
  if (size > 1 << 16) return 0;
  AddressNames names;
  const auto segments =
      parse_segments(std::as_bytes(std::span(data, size)), packets::Language::Pm4, names);
  if (!segments) return 0;
  packets::DumpOptions dump;
  dump.address_name = [&](uint64_t address) { return names.name_of(address); };
  for (const Segment& segment : *segments) {
    DOPPEL_ASSERT(!segment.dwords.empty(), "a segment has no dwords");
    KnownMemory memory;
    memory.add(0x10000, segment.dwords);
    const WalkOptions options{segment.family.value_or(GfxFamily::Gfx11), true, &memory, &names};
    TextPrinter printer(options, true);
    walk_stream(segment.language, segment.dwords, options, [&](const Visit& visit) {
      std::string text;
      printer.append(text, visit);
      DOPPEL_ASSERT(!text.empty(), "a packet prints as nothing");
      DOPPEL_ASSERT(!to_json(visit, segment.label).empty(), "a packet has no JSON");
    });
    const auto packets = compared_packets(segment.language, segment.dwords, options.family, dump);
    DOPPEL_ASSERT(diff(packets, packets).empty(), "a stream differs from itself");
  }
  return 0;
}
