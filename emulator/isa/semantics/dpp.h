// DPP: a source's lanes moved within rows of 16 before the operation. RDNA3 ISA manual, "DPP".
#pragma once

#include <cstdint>
#include <cstring>

#include "emulator/isa/semantics/row_shapes.h"

DOPPEL_BEGIN_LEVEL

constexpr uint32_t kNoLane = 32;

/// The lane that lane `l` of a half reads under DPP16 control `control`, or kNoLane.
inline uint32_t dpp16_source(uint32_t control, uint32_t l) {
  const uint32_t row = l & ~15u, column = l & 15;
  const uint32_t amount = control & 15;
  switch (control >> 4) {
    case 0x10:  // ROW_SHL
      return column + amount < 16 ? l + amount : kNoLane;
    case 0x11:  // ROW_SHR
      return column >= amount ? l - amount : kNoLane;
    case 0x12:  // ROW_ROR
      return row | ((column - amount) & 15);
    case 0x14:
      if (amount == 0) return row | (15 - column);        // ROW_MIRROR
      if (amount == 1) return (l & ~7u) | (7 - (l & 7));  // ROW_HALF_MIRROR
      if (amount == 2) return row;                        // 0x142, see ERRATA.md
      return kNoLane;
    case 0x15:  // ROW_SHARE
      return row | amount;
    case 0x16:  // ROW_XMASK
      return row | (column ^ amount);
    default:
      if (control > 0xff) return kNoLane;
      return (l & ~3u) | (control >> (2 * (l & 3)) & 3);  // QUAD_PERM
  }
}

/// Moves the lanes of `registers` (one register) in place; returns which lanes may write.
inline uint32_t move_lanes(const InstExtra& extra, uint32_t exec, uint32_t* lanes) {
  alignas(64) uint32_t old[32];
  std::memcpy(old, lanes, sizeof old);
  uint32_t enabled = 0;
  for (uint32_t l = 0; l < 32; ++l) {
    const uint32_t selected = extra.modifier >> (8 + 3 * (l & 7)) & 7;
    const uint32_t source = extra.dpp8 ? (l & ~7u) | selected : dpp16_source(extra.dpp_control, l);
    const bool exists = source != kNoLane;
    const bool readable = exists && (extra.fetch_inactive || (exec >> source & 1u) != 0);
    const bool masked = !extra.dpp8 && ((extra.dpp_row_mask >> (l / 16) & 1) == 0 ||
                                        (extra.dpp_bank_mask >> (l % 16 / 4) & 1) == 0);
    // What can't be read is 0, if BOUND_CTRL (or DPP8) allows it to count.
    lanes[l] = readable ? old[source] : 0;
    const bool writes = !masked && (readable || extra.dpp8 || extra.dpp_bound_control);
    enabled |= static_cast<uint32_t>(writes) << l;
  }
  return enabled;
}

DOPPEL_END_LEVEL
