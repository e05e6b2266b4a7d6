// SCRATCH: a lane's private memory. Hardware interleaves the lanes' dwords: dword d of lane l lies
// at d * lanes + l of the wave's area, so that lanes at one offset touch consecutive dwords. Every
// lane stays below its own limit.
#pragma once

#include "emulator/isa/semantics/global_memory.h"

DOPPEL_BEGIN_LEVEL

/// Byte offsets of the lanes' elements in their private memory.
struct ScratchOffsets {
  alignas(64) uint32_t lane[kLanes];
};

inline ScratchOffsets scratch_offsets(const Wave& wave, const Inst& inst) {
  const uint32_t scalar = inst.saddr != kNull ? wave.s[inst.saddr] : 0;
  const uint32_t uniform = scalar + inst.literal;
  ScratchOffsets offsets;
  if ((inst.flags & kVaddr) == 0) {
    std::fill_n(offsets.lane, kLanes, uniform);
    return offsets;
  }
  const uint32_t* address = wave.vgpr(inst.address);
  for (uint32_t l = 0; l < kLanes; ++l) offsets.lane[l] = address[l] + uniform;
  return offsets;
}

/// The scratch memory of one wave, opened for an access.
class ScratchArea {
 public:
  /// False if it can't be reached; the wave has faulted then.
  bool open(Wave& wave, const Inst* inst, Access access) {
    lanes_ = wave.lanes;
    first_ = wave.half * kLanes;
    limit_ = wave.scratch_bytes_lane;
    const uint64_t size = uint64_t{limit_} * lanes_;
    if (size == 0) return true;  // every access is beyond the limit
    host_ = translate(wave, wave.context->tlb[inst->site], wave.scratch_base, size, access);
    return host_ != nullptr || raise_inaccessible(wave, inst, -1, wave.scratch_base, size, access);
  }
  uint64_t limit() const { return limit_; }
  std::byte* byte(uint32_t lane, uint32_t offset) const {
    const uint64_t dword = uint64_t{offset & ~3u} * lanes_;
    return host_ + dword + (first_ + lane) * 4 + (offset & 3);
  }

 private:
  std::byte* host_ = nullptr;
  uint64_t limit_ = 0;
  uint32_t lanes_ = 0;
  uint32_t first_ = 0;
};

/// True if `bytes` at `offset` lie below the lane's limit; the wave has faulted otherwise.
inline bool check_scratch_lane(Wave& wave, const Inst* inst, const ScratchArea& area, uint32_t lane,
                               uint32_t offset, uint32_t bytes, Access access) {
  if (uint64_t{offset} + bytes <= area.limit()) [[likely]]
    return true;
  return raise_outside_scratch(wave, inst, wave_lane(wave, lane), offset, bytes, access);
}

/// True if the elements of all lanes in `exec` lie below the limit; the wave has faulted otherwise.
inline bool check_scratch(Wave& wave, const Inst* inst, const ScratchArea& area,
                          const ScratchOffsets& offsets, uint32_t exec, uint32_t bytes,
                          Access access) {
  return for_each_lane(exec, [&](uint32_t lane) {
    return check_scratch_lane(wave, inst, area, lane, offsets.lane[lane], bytes, access);
  });
}

template <OperandType T>
void load_scratch_lane(const ScratchArea& area, uint32_t lane, uint32_t offset, uint32_t* out) {
  constexpr uint32_t kBytes = element_bytes<T>();
  std::byte element[kBytes];
  if (kBytes >= 4 && offset % 4 == 0) {
    for (uint32_t d = 0; d < kBytes / 4; ++d) {
      std::memcpy(element + 4 * d, area.byte(lane, offset + 4 * d), 4);
    }
  } else {
    for (uint32_t b = 0; b < kBytes; ++b) element[b] = *area.byte(lane, offset + b);
  }
  for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
    out[d * kLanes + lane] = load_dword<T>(element, d);
  }
}

template <OperandType T>
void store_scratch_lane(const ScratchArea& area, uint32_t lane, uint32_t offset,
                        const uint32_t* data) {
  constexpr uint32_t kBytes = element_bytes<T>();
  std::byte element[element_dwords<T>() * 4];
  for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
    store_dword<T>(element, d, data[d * kLanes + lane]);
  }
  if (kBytes >= 4 && offset % 4 == 0) {
    for (uint32_t d = 0; d < kBytes / 4; ++d) {
      std::memcpy(area.byte(lane, offset + 4 * d), element + 4 * d, 4);
    }
  } else {
    for (uint32_t b = 0; b < kBytes; ++b) *area.byte(lane, offset + b) = element[b];
  }
}

struct Scratch {
  template <OperandType T>
  static bool load(Wave& wave, const Inst* inst, uint32_t exec, uint32_t* out) {
    const ScratchOffsets offsets = scratch_offsets(wave, *inst);
    ScratchArea area;
    if (!area.open(wave, inst, Access::Read)) return false;
    constexpr uint32_t kBytes = element_bytes<T>();
    if (!check_scratch(wave, inst, area, offsets, exec, kBytes, Access::Read)) return false;
    return for_each_lane(exec, [&](uint32_t lane) {
      load_scratch_lane<T>(area, lane, offsets.lane[lane], out);
      return true;
    });
  }
  template <OperandType T>
  static bool store(Wave& wave, const Inst* inst, uint32_t exec, const uint32_t* data) {
    const ScratchOffsets offsets = scratch_offsets(wave, *inst);
    ScratchArea area;
    if (!area.open(wave, inst, Access::Write)) return false;
    constexpr uint32_t kBytes = element_bytes<T>();
    if (!check_scratch(wave, inst, area, offsets, exec, kBytes, Access::Write)) return false;
    return for_each_lane(exec, [&](uint32_t lane) {
      store_scratch_lane<T>(area, lane, offsets.lane[lane], data);
      return true;
    });
  }
};

DOPPEL_END_LEVEL
