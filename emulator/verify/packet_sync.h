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
#include "emulator/verify/cache_ops.h"

namespace doppel::verify {

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
