// Walks a stream packet by packet, with what is wrong in each, through the indirect buffers whose
// bytes are known, and past damage.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "core/packets/packet.h"
#include "tools/streams/address_names.h"

namespace doppel::streams {

/// GPU memory of which the bytes are known, by address.
class KnownMemory {
 public:
  void add(uint64_t address, std::vector<uint32_t> dwords);
  /// Up to `dwords` dwords at the address; fewer or none where memory is not known.
  std::span<const uint32_t> at(uint64_t address, size_t dwords) const;

 private:
  std::map<uint64_t, std::vector<uint32_t>> ranges_;
};

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
  size_t skipped = 0;  // dwords that were passed over to find the next packet
};

struct WalkTotals {
  size_t packets = 0;
  size_t problems = 0;  // errors; not warnings and notes
  size_t skipped = 0;
};

WalkTotals walk_stream(packets::Language language, std::span<const uint32_t> stream,
                       const WalkOptions& options, const std::function<void(const Visit&)>& visit);

}  // namespace doppel::streams
