// DS instructions that move data between lanes, or count them, without a lane's address.
#pragma once

#include "emulator/isa/semantics/ds_shapes.h"

DOPPEL_BEGIN_LEVEL

/// The lane that lane `lane` reads in DS_SWIZZLE_B32, by the instruction's offset (RDNA3 ISA
/// manual, "DS_SWIZZLE_B32"): FFT, rotation, quad permutation, or bit masks.
inline uint32_t swizzle_source(uint32_t lane, uint32_t offset) {
  const uint32_t mask = offset & 0x1f;
  if (offset >= 0xe000) {
    uint32_t reversed = 0;
    for (uint32_t bit = 0; bit < 5; ++bit) reversed |= (lane >> bit & 1) << (4 - bit);
    return reversed >> std::popcount(mask) | (lane & mask);
  }
  if (offset >= 0xc000) {
    const uint32_t distance = offset >> 5 & 0x1f;
    const uint32_t rotated = (offset & 0x400) != 0 ? lane - distance : lane + distance;
    return (lane & mask) | (rotated & ~mask & 0x1f);
  }
  if ((offset & 0x8000) != 0) return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
  return ((lane & mask) | (offset >> 5 & 0x1f)) ^ (offset >> 10 & 0x1f);
}

/// Lane by lane, result = data of lane source(lane), or 0 if there is no such lane or it is off.
template <class SourceOf>
void read_lanes(Wave& wave, const Inst* inst, const uint32_t* data, SourceOf source) {
  const uint32_t exec = wave.exec_half();
  alignas(64) uint32_t result[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t from = source(l);
    result[l] = from < kLanes && (exec >> from & 1) != 0 ? data[from] : 0;
  }
  blend(wave.destination(*inst), result, exec);
}

inline const Inst* ds_swizzle(Wave& wave, const Inst* inst) {
  // The data comes through the address operand.
  read_lanes(wave, inst, wave.vgpr(inst->address),
             [&](uint32_t lane) { return swizzle_source(lane, ds_offset(*inst)); });
  return inst + 1;
}

/// The lane that an address names for DS_PERMUTE and DS_BPERMUTE. Lane numbers are taken modulo 64
/// in wave32 too (RDNA3 ISA manual); a wave64 permutes within its halves. kLanes: no lane.
inline uint32_t permute_lane(const Wave& wave, uint32_t address, uint32_t offset) {
  const uint32_t lane = (address + offset) / 4 % 64;
  return wave.wave64() ? lane % kLanes : std::min<uint32_t>(lane, kLanes);
}

inline const Inst* ds_bpermute(Wave& wave, const Inst* inst) {
  const uint32_t* address = wave.vgpr(inst->address);
  read_lanes(wave, inst, wave.vgpr(inst->data),
             [&](uint32_t lane) { return permute_lane(wave, address[lane], ds_offset(*inst)); });
  return inst + 1;
}

inline const Inst* ds_permute(Wave& wave, const Inst* inst) {
  const uint32_t* address = wave.vgpr(inst->address);
  const uint32_t* data = wave.vgpr(inst->data);
  alignas(64) uint32_t result[kLanes + 1] = {};  // the last one for lanes that there are not
  for_each_lane(wave.exec_half(), [&](uint32_t lane) {
    result[permute_lane(wave, address[lane], ds_offset(*inst))] = data[lane];
    return true;
  });
  blend(wave.destination(*inst), result, wave.exec_half());
  return inst + 1;
}

/// DS_APPEND and DS_CONSUME: the counter at M0 + offset moves by the number of lanes that are on;
/// every lane gets the value before.
template <bool kAppend>
const Inst* ds_count(Wave& wave, const Inst* inst) {
  const uint64_t address = uint64_t{wave.s[kM0] & 0xffff} + ds_offset(*inst);
  const auto lanes = static_cast<uint32_t>(std::popcount(wave.mask(kExecLo)));
  uint32_t old = 0;
  if (std::byte* host = lds_element(wave, address, 4); host != nullptr) {
    old = kAppend ? update_lds<Add, uint32_t>(host, lanes) : update_lds<Sub, uint32_t>(host, lanes);
  }
  alignas(64) uint32_t result[kLanes];
  std::fill_n(result, kLanes, old);
  const uint32_t halves = wave.lanes / kLanes;
  for (uint32_t half = 0; half < halves; ++half) {
    wave.select_half(half);
    blend(wave.destination(*inst), result, wave.exec_half());
  }
  wave.select_half(0);
  return inst + 1;
}

template <Handler kHandler, Scope kScope>
struct ds_handler {
  static constexpr Scope scope = kScope;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    return kHandler(wave, inst);
  }
};

struct swizzle : ds_handler<&ds_swizzle, Scope::Lanes> {};
struct permute : ds_handler<&ds_permute, Scope::Lanes> {};
struct bpermute : ds_handler<&ds_bpermute, Scope::Lanes> {};
struct append : ds_handler<&ds_count<true>, Scope::Wave> {};
struct consume : ds_handler<&ds_count<false>, Scope::Wave> {};

inline const Inst* ds_no_operation(Wave&, const Inst* inst) {
  return inst + 1;
}
struct ds_nop : ds_handler<&ds_no_operation, Scope::Wave> {};

DOPPEL_END_LEVEL
