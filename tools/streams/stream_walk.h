// Walks a stream packet by packet, with what is wrong in each, through the indirect buffers whose
// bytes are known, and past damage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/packets/packet.h"
#include "tools/streams/address_names.h"
#include "tools/streams/known_memory.h"

namespace doppel::streams {

/// Memory that a packet makes the GPU read as packets, or as a kernel object.
struct Reference {
  uint64_t address = 0;
  uint32_t dwords = 0;
  std::optional<packets::Language> language;  // of an indirect buffer
};
/// nullopt: none, or none whose size is known.
std::optional<Reference> reference_of(const packets::Packet& packet);

struct WalkOptions {
  GfxFamily family = GfxFamily::Gfx11;
  bool explain = false;  // with the findings of core/packets/lint.h
  const KnownMemory* memory = nullptr;
  const AddressNames* names = nullptr;  // of the file's named addresses
};

/// One packet of the walk. Valid during the call that hands it over.
struct Visit {
  const packets::Packet& packet;
  size_t offset = 0;  // in its buffer, dwords
  int depth = 0;      // 0: the stream itself; deeper: indirect buffers
  std::vector<packets::Problem> problems;
  size_t skipped = 0;    // dwords that were passed over to find the next packet
  bool resumes = false;  // it was found, behind them
};

struct WalkTotals {
  size_t packets = 0;
  size_t problems = 0;  // errors; not warnings and notes
  size_t skipped = 0;
};

WalkTotals walk_stream(packets::Language language, std::span<const uint32_t> stream,
                       const WalkOptions& options, const std::function<void(const Visit&)>& visit);

}  // namespace doppel::streams
