// PacketSync: how a packet orders memory: what it waits for, whether it waits for the pipe, which
// caches it invalidates or writes back, before and after its work. Derived from the packet alone,
// so that checkers need no hooks in the processors.
//
// Sources: AMD PAL's GCR fields and the RDNA manuals' memory hierarchy (gfx10 and later); the
// kernel's soc15d.h CP_COHER_CNTL bits (gfx9.4); HSA Platform System Architecture 1.2 (AQL fences).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/packets/packet.h"
#include "emulator/packet_outcome.h"
#include "emulator/verify/past.h"

namespace doppel::verify {

/// A set of cache operations.
class CacheOps {
 public:
  constexpr void add(CacheOp op) { bits_ |= bit(op); }
  constexpr void add_if(bool condition, CacheOp op) {
    if (condition) add(op);
  }
  constexpr bool has(CacheOp op) const { return bits_ & bit(op); }
  constexpr bool empty() const { return bits_ == 0; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (size_t op = 0; op < kCacheOps; ++op) {
      if (has(static_cast<CacheOp>(op))) visit(static_cast<CacheOp>(op));
    }
  }

 private:
  static constexpr uint8_t bit(CacheOp op) {
    return static_cast<uint8_t>(1 << static_cast<int>(op));
  }
  uint8_t bits_ = 0;
};

struct PacketSync {
  std::array<emu::MemoryWait, 5> waits{};
  uint32_t wait_count = 0;
  bool any_wait = false;     // one of them is enough
  bool joins_pipe = false;   // waits for all dispatches before it
  bool end_of_pipe = false;  // acts when all dispatches before it have ended
  CacheOps acquire;          // before its work
  CacheOps release;          // after its work, before it signals

  std::span<const emu::MemoryWait> wait_words() const { return {waits.data(), wait_count}; }
};

PacketSync packet_sync(const packets::Packet& packet);

}  // namespace doppel::verify
