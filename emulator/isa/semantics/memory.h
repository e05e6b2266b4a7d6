// How vector memory instructions reach memory: 32 lane addresses are translated at once through
// the access site's TLB entry, every lane bounds-checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulator/isa/semantics/row_shapes.h"
#include "emulator/memory/gpu_vm.h"

DOPPEL_BEGIN_LEVEL

struct LanePointers {
  alignas(64) std::array<std::byte*, 32> host;  // of active lanes
  bool contiguous = false;  // all 32 lanes are on and lie behind each other: host[0] has them all
};

/// Translates [va[l], va[l] + size) for the lanes in `exec` (not 0). False: the wave has faulted.
bool translate_lanes(Wave& wave, const Inst* inst, const uint64_t* va, uint32_t exec, uint32_t size,
                     emu::Access access, LanePointers& pointers);

/// Host bytes of [va, va + size) for a scalar access; nullptr: the wave has faulted.
std::byte* translate_scalar(Wave& wave, const Inst* inst, uint64_t va, uint32_t size,
                            emu::Access access);

/// GLOBAL addresses of the current half: VGPR pair (or SGPR pair + VGPR offset) + immediate.
inline void global_addresses(const Wave& wave, const Inst* inst, uint64_t* va) {
  const uint32_t* low = wave.vgpr(inst->address);
  const auto immediate =
      static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(inst->literal)));
  if (inst->saddr == kNull) {
    const uint32_t* high = low + 32;
    for (int l = 0; l < 32; ++l) va[l] = (low[l] | uint64_t{high[l]} << 32) + immediate;
  } else {
    const uint64_t scalar_base = wave.pair(inst->saddr) + immediate;
    for (int l = 0; l < 32; ++l) va[l] = scalar_base + low[l];
  }
}

/// Copies `kDwords` dwords a lane from memory into consecutive registers.
template <int kDwords>
void load_dwords(const LanePointers& from, uint32_t exec, uint32_t* registers) {
  if (from.contiguous) {
    const auto* dwords = from.host[0];
    if constexpr (kDwords == 1) {
      std::memcpy(registers, dwords, 128);
    } else {
      for (int l = 0; l < 32; ++l) {
        uint32_t lane[kDwords];
        std::memcpy(lane, dwords + l * sizeof lane, sizeof lane);
        for (int k = 0; k < kDwords; ++k) registers[k * 32 + l] = lane[k];
      }
    }
    return;
  }
  for (uint32_t rest = exec; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    uint32_t lane[kDwords];
    std::memcpy(lane, from.host[static_cast<size_t>(l)], sizeof lane);
    for (int k = 0; k < kDwords; ++k) registers[k * 32 + l] = lane[k];
  }
}

/// The other way round. Lanes write in ascending order, as hardware does for equal addresses.
template <int kDwords>
void store_dwords(const uint32_t* registers, uint32_t exec, const LanePointers& to) {
  if (to.contiguous && kDwords == 1) {
    std::memcpy(to.host[0], registers, 128);
    return;
  }
  for (uint32_t rest = exec; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    uint32_t lane[kDwords];
    for (int k = 0; k < kDwords; ++k) lane[k] = registers[k * 32 + l];
    std::memcpy(to.host[static_cast<size_t>(l)], lane, sizeof lane);
  }
}

DOPPEL_END_LEVEL
