// InFlightPackets: what must be kept of a packet whose effect comes after the front-end has gone
// on: its dwords and where it stood, to complete it, and to name it in a fault.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/assert.h"
#include "emulator/cp/compute_pipe.h"
#include "emulator/cp/packet_stream.h"

namespace doppel::emu {

struct InFlightPacket {
  bool used = false;
  PacketPlace place;
  uint64_t started = 0;  // GPU counter
  uint32_t size = 0;
  std::array<uint32_t, kAqlPacketDwords> words{};

  std::span<const uint32_t> dwords() const { return {words.data(), size}; }
};

class InFlightPackets {
 public:
  /// Keeps a packet of at most 16 dwords; returns its tag. As many as a ComputePipe takes.
  uint64_t keep(std::span<const uint32_t> dwords, const PacketPlace& place, uint64_t started) {
    DOPPEL_ASSERT(dwords.size() <= kAqlPacketDwords, "An asynchronous packet is short.");
    const auto free = std::ranges::find(packets_, false, &InFlightPacket::used);
    DOPPEL_ASSERT(free != packets_.end(), "The pipe bounds what is in flight.");
    free->used = true;
    free->place = place;
    free->started = started;
    free->size = static_cast<uint32_t>(dwords.size());
    std::ranges::copy(dwords, free->words.begin());
    return static_cast<uint64_t>(free - packets_.begin());
  }

  const InFlightPacket& operator[](uint64_t tag) const { return packets_[tag]; }
  void drop(uint64_t tag) { packets_[tag].used = false; }
  std::span<const InFlightPacket> all() const { return packets_; }

 private:
  std::array<InFlightPacket, kDispatchSlots + kPendingEvents> packets_{};
};

}  // namespace doppel::emu
