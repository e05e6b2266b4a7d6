// GLOBAL: lanes that address the GPU's memory. A window (window.h) is tried first, through the
// access site's TLB entry; lanes that lie in several extents, or fault, go one by one.
#pragma once

#include <algorithm>
#include <span>

#include "emulator/isa/memory_access.h"
#include "emulator/isa/semantics/window.h"

DOPPEL_BEGIN_LEVEL

using emu::Access;
using emu::TlbEntry;

/// A 64-bit address for each lane: base + high:low.
struct LaneAddresses {
  uint64_t base = 0;
  const uint32_t* low = nullptr;
  const uint32_t* high = nullptr;  // nullptr: 0

  uint64_t operator[](uint32_t lane) const {
    return base + (low[lane] | (high != nullptr ? uint64_t{high[lane]} << 32 : 0));
  }
};

inline uint64_t memory_offset(const Inst& inst) {
  return static_cast<uint64_t>(int64_t{static_cast<int32_t>(inst.literal)});
}

inline LaneAddresses global_addresses(const Wave& wave, const Inst& inst) {
  if (inst.saddr != kNull) {
    return {wave.pair(inst.saddr) + memory_offset(inst), wave.vgpr(inst.address), nullptr};
  }
  return {memory_offset(inst), wave.vgpr(inst.address), wave.vgpr(inst.address + 1)};
}

/// The number of a lane of the running half in its wave.
inline int wave_lane(const Wave& wave, uint32_t lane) {
  return static_cast<int>(wave.half * kLanes + lane);
}

inline bool covers(const TlbEntry& entry, uint64_t epoch, uint64_t va, uint64_t size,
                   Access access) {
  return entry.epoch == epoch && va >= entry.va_begin && va < entry.va_end &&
         size <= entry.va_end - va &&
         (entry.permissions & static_cast<uint8_t>(access)) == static_cast<uint8_t>(access);
}

/// Host memory for [va, va + size) through `entry`, or nullptr if no extent holds and permits it.
inline std::byte* translate(const Wave& wave, TlbEntry& entry, uint64_t va, uint64_t size,
                            Access access) {
  const emu::GpuVm& vm = *wave.context->vm;
  if (!covers(entry, vm.epoch(), va, size, access)) {
    if (!vm.fill_tlb(va, entry) || !covers(entry, vm.epoch(), va, size, access)) return nullptr;
  }
  return entry.host + (va - entry.va_begin);
}

/// Fills `window` if the elements of all lanes in `exec` (not 0) lie in one extent, within 4 GiB.
inline bool open_window(const Wave& wave, const Inst& inst, const LaneAddresses& addresses,
                        uint32_t exec, uint32_t bytes, Access access, Window& window) {
  const auto first = static_cast<uint32_t>(std::countr_zero(exec));
  const uint32_t first_low = addresses.low[first];
  uint32_t lowest = ~0u;
  uint32_t highest = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t on = 0u - (exec >> l & 1u);
    const uint32_t low = (addresses.low[l] & on) | (first_low & ~on);
    window.offset[l] = low;
    lowest = std::min(lowest, low);
    highest = std::max(highest, low);
  }
  uint64_t begin = addresses.base + lowest;
  if (addresses.high != nullptr) {
    const uint32_t first_high = addresses.high[first];
    uint32_t differs = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      differs |= (addresses.high[l] ^ first_high) & (0u - (exec >> l & 1u));
    }
    if (differs != 0) return false;
    begin += uint64_t{first_high} << 32;
  }
  window.host = translate(wave, wave.context->tlb[inst.site], begin,
                          uint64_t{highest} - lowest + bytes, access);
  if (window.host == nullptr) return false;
  for (uint32_t l = 0; l < kLanes; ++l) window.offset[l] -= lowest;
  return true;
}

/// Tells the access log of the lanes' elements, if there is one.
inline void note_lanes(const Wave& wave, const Inst* inst, const LaneAddresses& addresses,
                       uint32_t exec, uint32_t bytes, emu::AccessMode mode) {
  if (wave.context->log == nullptr) [[likely]]
    return;
  uint64_t va[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) va[l] = exec >> l & 1 ? addresses[l] : 0;
  record_lanes(wave, inst, va, exec, bytes, mode);
}

/// One lane's element from GPU memory, across extents if need be.
template <OperandType T>
bool load_lane(Wave& wave, const Inst* inst, uint32_t lane, uint64_t va, uint32_t* out) {
  std::byte element[element_bytes<T>()];
  if (!read_memory(wave, inst, wave_lane(wave, lane), va, element)) return false;
  for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
    out[d * kLanes + lane] = load_dword<T>(element, d);
  }
  return true;
}

template <OperandType T>
bool store_lane(Wave& wave, const Inst* inst, uint32_t lane, uint64_t va, const uint32_t* data) {
  std::byte element[element_dwords<T>() * 4];
  for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
    store_dword<T>(element, d, data[d * kLanes + lane]);
  }
  return write_memory(wave, inst, wave_lane(wave, lane), va, {element, element_bytes<T>()});
}

/// Calls `visit(lane)` for each lane in `exec`, lowest first, until one returns false.
template <class Visit>
bool for_each_lane(uint32_t exec, Visit visit) {
  for (; exec != 0; exec &= exec - 1) {
    if (!visit(static_cast<uint32_t>(std::countr_zero(exec)))) return false;
  }
  return true;
}

template <OperandType T>
bool load_from(Wave& wave, const Inst* inst, const LaneAddresses& addresses, uint32_t exec,
               uint32_t* out) {
  Window window;
  if (open_window(wave, *inst, addresses, exec, element_bytes<T>(), Access::Read, window)) {
    note_lanes(wave, inst, addresses, exec, element_bytes<T>(), emu::AccessMode::Read);
    gather<T>(window, out);
    return true;
  }
  return for_each_lane(
      exec, [&](uint32_t lane) { return load_lane<T>(wave, inst, lane, addresses[lane], out); });
}

template <OperandType T>
bool store_to(Wave& wave, const Inst* inst, const LaneAddresses& addresses, uint32_t exec,
              const uint32_t* data) {
  Window window;
  if (open_window(wave, *inst, addresses, exec, element_bytes<T>(), Access::Write, window)) {
    note_lanes(wave, inst, addresses, exec, element_bytes<T>(), emu::AccessMode::Write);
    scatter<T>(window, data, exec);
    return true;
  }
  return for_each_lane(
      exec, [&](uint32_t lane) { return store_lane<T>(wave, inst, lane, addresses[lane], data); });
}

/// Cache invalidation: the caches modelled here are coherent.
struct cache_invalidate {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave&, const Inst* inst) {
    return inst + 1;
  }
};

struct Global {
  template <OperandType T>
  static bool load(Wave& wave, const Inst* inst, uint32_t exec, uint32_t* out) {
    return load_from<T>(wave, inst, global_addresses(wave, *inst), exec, out);
  }
  template <OperandType T>
  static bool store(Wave& wave, const Inst* inst, uint32_t exec, const uint32_t* data) {
    return store_to<T>(wave, inst, global_addresses(wave, *inst), exec, data);
  }
  static LaneAddresses addresses(const Wave& wave, const Inst& inst) {
    return global_addresses(wave, inst);
  }
};

/// GLOBAL_*_ADDTID: the lane's number is its address.
struct GlobalAddTid {
  static LaneAddresses addresses(const Wave& wave, const Inst& inst) {
    alignas(64) static constexpr auto kTid = [] {
      std::array<uint32_t, 2 * kLanes> tid{};
      for (uint32_t l = 0; l < tid.size(); ++l) tid[l] = 4 * l;
      return tid;
    }();
    const uint64_t base = inst.saddr != kNull ? wave.pair(inst.saddr) : 0;
    return {base + memory_offset(inst), kTid.data() + wave.half * kLanes, nullptr};
  }
  template <OperandType T>
  static bool load(Wave& wave, const Inst* inst, uint32_t exec, uint32_t* out) {
    return load_from<T>(wave, inst, addresses(wave, *inst), exec, out);
  }
  template <OperandType T>
  static bool store(Wave& wave, const Inst* inst, uint32_t exec, const uint32_t* data) {
    return store_to<T>(wave, inst, addresses(wave, *inst), exec, data);
  }
};

DOPPEL_END_LEVEL
