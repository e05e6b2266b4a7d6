// DS: loads, stores and atomics on LDS. A lane's address is its VGPR plus the instruction's offset;
// the two-address forms have two 8-bit offsets in units of the element (or of 64 elements).
#pragma once

#include "emulator/isa/semantics/atomic_ops.h"
#include "emulator/isa/semantics/lds_memory.h"
#include "emulator/isa/semantics/memory_atomics.h"

DOPPEL_BEGIN_LEVEL

inline uint32_t ds_offset(const Inst& inst) {
  return inst.literal & 0xffff;
}

template <OperandType T, uint32_t kStride>
uint32_t ds_first_offset(const Inst& inst) {
  return (inst.literal & 0xff) * element_bytes<T>() * kStride;
}
template <OperandType T, uint32_t kStride>
uint32_t ds_second_offset(const Inst& inst) {
  return (inst.literal >> 8 & 0xff) * element_bytes<T>() * kStride;
}

struct Lds {
  template <OperandType T>
  static bool load(Wave& wave, const Inst* inst, uint32_t exec, uint32_t* out) {
    load_lds<T>(wave, wave.vgpr(inst->address), ds_offset(*inst), exec, out);
    return true;
  }
  template <OperandType T>
  static bool store(Wave& wave, const Inst* inst, uint32_t exec, const uint32_t* data) {
    store_lds<T>(wave, wave.vgpr(inst->address), ds_offset(*inst), exec, data);
    return true;
  }
};

/// DS_*_ADDTID: the address is M0 plus four times the lane's number.
struct LdsAddTid {
  static void addresses(const Wave& wave, uint32_t* low) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      low[l] = (wave.s[kM0] & 0xffff) + (wave.half * kLanes + l) * 4;
    }
  }
  template <OperandType T>
  static bool load(Wave& wave, const Inst* inst, uint32_t exec, uint32_t* out) {
    alignas(64) uint32_t low[kLanes];
    addresses(wave, low);
    load_lds<T>(wave, low, ds_offset(*inst), exec, out);
    return true;
  }
  template <OperandType T>
  static bool store(Wave& wave, const Inst* inst, uint32_t exec, const uint32_t* data) {
    alignas(64) uint32_t low[kLanes];
    addresses(wave, low);
    store_lds<T>(wave, low, ds_offset(*inst), exec, data);
    return true;
  }
};

/// The element of a two-address load: half of its destination.
template <OperandType D>
constexpr OperandType half_of = D == B128 ? B64 : B32;

template <uint32_t kStride>
struct ds_load_two {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    constexpr OperandType kElement = half_of<D>;
    constexpr uint32_t kDwords = element_dwords<kElement>();
    const uint32_t exec = wave.exec_half();
    if (exec == 0) return inst + 1;
    const uint32_t* address = wave.vgpr(inst->address);
    alignas(64) uint32_t loaded[2 * kDwords * kLanes];
    load_lds<kElement>(wave, address, ds_first_offset<kElement, kStride>(*inst), exec, loaded);
    load_lds<kElement>(wave, address, ds_second_offset<kElement, kStride>(*inst), exec,
                       loaded + kDwords * kLanes);
    write_loaded<D, Half::Whole>(wave.destination(*inst), loaded, exec);
    return inst + 1;
  }
};

/// All first elements, then all second ones.
template <uint32_t kStride>
struct ds_store_two {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint32_t exec = wave.exec_half();
    if (exec == 0) return inst + 1;
    const uint32_t* address = wave.vgpr(inst->address);
    store_lds<A>(wave, address, ds_first_offset<A, kStride>(*inst), exec, wave.vgpr(inst->data));
    store_lds<A>(wave, address, ds_second_offset<A, kStride>(*inst), exec, wave.vgpr(inst->data1));
    return inst + 1;
  }
};

/// One lane's update of the element at `address`: `perform(host)` gives what was there. An element
/// outside of the LDS reads 0. False: the address is misaligned, and the wave has faulted.
template <class V, class Perform>
bool update_lds_lane(Wave& wave, const Inst* inst, uint32_t lane, uint64_t address, V& old,
                     Perform perform) {
  if (address % sizeof(V) != 0) {
    return raise_misaligned(wave, inst, wave_lane(wave, lane), address, sizeof(V));
  }
  std::byte* host = lds_element(wave, address, sizeof(V));
  old = host != nullptr ? perform(host) : V{};
  return true;
}

/// Lane by lane, `perform(lane, host)` updates the element at vgpr + `offset` and returns what was
/// there, which goes to `destination` (nullptr: nowhere).
template <class V, class Perform>
bool update_lds_lanes(Wave& wave, const Inst* inst, uint32_t offset, uint32_t* destination,
                      Perform perform) {
  const uint32_t* address = wave.vgpr(inst->address);
  return for_each_lane(wave.exec_half(), [&](uint32_t lane) {
    V old{};
    if (!update_lds_lane<V>(wave, inst, lane, uint64_t{address[lane]} + offset, old,
                            [&](std::byte* host) { return perform(lane, host); })) {
      return false;
    }
    if (destination != nullptr) set_lane_datum<V>(destination, lane, old);
    return true;
  });
}

template <OperandType D>
uint32_t* ds_destination(Wave& wave, const Inst* inst) {
  return D == None ? nullptr : wave.destination(*inst);
}

template <class Op>
struct ds_atomic {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    using V = atomic_value<A>;
    const uint32_t* data = wave.vgpr(inst->data);
    const bool done =
        update_lds_lanes<V>(wave, inst, ds_offset(*inst), ds_destination<D>(wave, inst),
                            [&](uint32_t lane, std::byte* host) {
                              return update_lds<Op, V>(host, lane_datum<V>(data, lane));
                            });
    return done ? inst + 1 : nullptr;
  }
};

/// Atomics with two data operands: apply(memory, first, second).
struct MaskOr {
  template <class V>
  static V apply(V memory, V first, V second) {
    return (memory & ~first) | second;
  }
};
struct Wrap {
  template <class V>
  static V apply(V memory, V first, V second) {
    return memory >= first ? memory - first : memory + second;
  }
};
/// gfx11: the first operand is stored where memory equals the second; gfx10.3 has them the other
/// way round (ds_cmpst).
struct CompareStore {
  template <class V>
  static V apply(V memory, V first, V second) {
    return memory == second ? first : memory;
  }
};

template <class Op>
struct ds_atomic_two {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    using V = atomic_value<A>;
    const bool swapped =
        std::is_same_v<Op, CompareStore> && wave.target->family == GfxFamily::Gfx10_3;
    const uint32_t* first = wave.vgpr(swapped ? inst->data1 : inst->data);
    const uint32_t* second = wave.vgpr(swapped ? inst->data : inst->data1);
    const bool done = update_lds_lanes<V>(
        wave, inst, ds_offset(*inst), ds_destination<D>(wave, inst),
        [&](uint32_t lane, std::byte* host) {
          V old;
          std::memcpy(&old, host, sizeof old);
          const V updated = Op::apply(old, lane_datum<V>(first, lane), lane_datum<V>(second, lane));
          if (std::memcmp(&updated, &old, sizeof old) != 0) {
            std::memcpy(host, &updated, sizeof updated);
          }
          return old;
        });
    return done ? inst + 1 : nullptr;
  }
};

/// Two exchanges, lane by lane, returning both old values.
template <uint32_t kStride>
struct ds_exchange_two {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    using V = atomic_value<A>;
    const uint32_t* address = wave.vgpr(inst->address);
    uint32_t* destination = wave.destination(*inst);
    const auto exchange = [&](uint32_t lane, uint64_t at, V data, V& old) {
      return update_lds_lane<V>(wave, inst, lane, at, old,
                                [&](std::byte* host) { return update_lds<Swap, V>(host, data); });
    };
    const bool done = for_each_lane(wave.exec_half(), [&](uint32_t lane) {
      // The destination may hold the address or the data: all are read before it is written.
      const V first = lane_datum<V>(wave.vgpr(inst->data), lane);
      const V second = lane_datum<V>(wave.vgpr(inst->data1), lane);
      const uint64_t base = address[lane];
      V old_first{};
      V old_second{};
      if (!exchange(lane, base + ds_first_offset<A, kStride>(*inst), first, old_first) ||
          !exchange(lane, base + ds_second_offset<A, kStride>(*inst), second, old_second)) {
        return false;
      }
      set_lane_datum<V>(destination, lane, old_first);
      set_lane_datum<V>(destination + element_dwords<A>() * kLanes, lane, old_second);
      return true;
    });
    return done ? inst + 1 : nullptr;
  }
};

/// Each dword of the data whose bit 31 is set replaces its dword in memory, with bit 31 cleared.
struct ConditionalExchange {
  template <class V>
  static V apply(V memory, V data) {
    V result = 0;
    for (uint32_t shift = 0; shift < 64; shift += 32) {
      const auto datum = static_cast<uint32_t>(data >> shift);
      const auto old = static_cast<uint32_t>(memory >> shift);
      result |= V{(datum & 0x80000000) != 0 ? datum & 0x7fffffff : old} << shift;
    }
    return result;
  }
};

DOPPEL_END_LEVEL
