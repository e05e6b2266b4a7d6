// Atomics on GPU memory, and through FLAT on LDS: lane by lane, lowest first, so that a wave's own
// conflicts have one order. GLC asks for the value before the operation.
#pragma once

#include "emulator/isa/semantics/atomic_ops.h"
#include "emulator/isa/semantics/flat_memory.h"

DOPPEL_BEGIN_LEVEL

/// Where a lane's atomic operates.
struct AtomicPlace {
  std::byte* host = nullptr;  // nullptr: LDS out of range, the operation vanishes
  bool shared = true;         // GPU memory; false: LDS or scratch
};

/// Host memory of an atomic at GPU address `address`; the wave has faulted if there is none.
inline bool resolve_atomic(Wave& wave, const Inst* inst, uint32_t lane, uint64_t address,
                           uint32_t bytes, AtomicPlace& place) {
  const int number = wave_lane(wave, lane);
  if (address % bytes != 0) return raise_misaligned(wave, inst, number, address, bytes);
  place.host = translate(wave, wave.context->tlb[inst->site], address, bytes, Access::ReadWrite);
  if (wave.context->log) [[unlikely]] {
    std::array<uint64_t, kLanes> va{};
    va[lane] = address;
    record_lanes(wave, inst, va.data(), 1u << lane, bytes, emu::AccessMode::Atomic);
  }
  return place.host != nullptr ||
         raise_inaccessible(wave, inst, number, address, bytes, Access::ReadWrite);
}

/// Resolves the atomics of lanes at GPU addresses.
class GlobalAtomics {
 public:
  GlobalAtomics(Wave& wave, const Inst* inst, LaneAddresses addresses)
      : wave_(wave), inst_(inst), addresses_(addresses) {}

  bool resolve(uint32_t lane, uint32_t bytes, AtomicPlace& place) {
    return resolve_atomic(wave_, inst_, lane, addresses_[lane], bytes, place);
  }

 private:
  Wave& wave_;
  const Inst* inst_;
  LaneAddresses addresses_;
};

/// As GlobalAtomics; lanes may point into the shared aperture. The private one has no atomics.
class FlatAtomics {
 public:
  FlatAtomics(Wave& wave, const Inst* inst, uint32_t exec)
      : wave_(wave),
        inst_(inst),
        addresses_(global_addresses(wave, *inst)),
        lanes_(classify(wave, addresses_, exec)),
        global_(wave, inst, addresses_) {}

  bool resolve(uint32_t lane, uint32_t bytes, AtomicPlace& place) {
    if (lanes_.global >> lane & 1) return global_.resolve(lane, bytes, place);
    const auto offset = static_cast<uint32_t>(addresses_[lane]);
    if (lanes_.scratch >> lane & 1) {
      return raise_outside_scratch(wave_, inst_, wave_lane(wave_, lane), offset, bytes,
                                   Access::ReadWrite);
    }
    if (offset % bytes != 0) {
      return raise_misaligned(wave_, inst_, wave_lane(wave_, lane), addresses_[lane], bytes);
    }
    place = {lds_element(wave_, offset, bytes), false};
    return true;
  }

 private:
  Wave& wave_;
  const Inst* inst_;
  LaneAddresses addresses_;
  FlatLanes lanes_;
  GlobalAtomics global_;
};

inline GlobalAtomics atomics_of(Global, Wave& wave, const Inst* inst, uint32_t) {
  return {wave, inst, global_addresses(wave, *inst)};
}
inline FlatAtomics atomics_of(Flat, Wave& wave, const Inst* inst, uint32_t exec) {
  return {wave, inst, exec};
}

/// `perform(lane, place)` returns the value before; it is written where GLC is set.
template <OperandType D, class Places, class Perform>
const Inst* run_atomics(Wave& wave, const Inst* inst, uint32_t exec, Places places,
                        Perform perform) {
  using V = atomic_value<D>;
  uint32_t* destination = (inst->flags & kGlc) != 0 ? wave.destination(*inst) : nullptr;
  const bool done = for_each_lane(exec, [&](uint32_t lane) {
    AtomicPlace place;
    if (!places.resolve(lane, sizeof(V), place)) return false;
    const V old = place.host != nullptr ? perform(lane, place) : V{};
    if (destination != nullptr) set_lane_datum<V>(destination, lane, old);
    return true;
  });
  return done ? inst + 1 : nullptr;
}

template <class Op>
struct atomic {
  template <class Space>
  struct in {
    static constexpr Scope scope = Scope::Lanes;
    static constexpr bool implemented = true;
    template <OperandType D, OperandType A, OperandType B, OperandType C>
    static const Inst* run(Wave& wave, const Inst* inst) {
      using V = atomic_value<D>;
      const uint32_t exec = wave.exec_half();
      const uint32_t* data = wave.vgpr(inst->data);
      return run_atomics<D>(wave, inst, exec, atomics_of(Space{}, wave, inst, exec),
                            [&](uint32_t lane, AtomicPlace place) {
                              const V datum = lane_datum<V>(data, lane);
                              return place.shared ? update_shared<Op, V>(place.host, datum)
                                                  : update_lds<Op, V>(place.host, datum);
                            });
    }
  };
};

/// The data registers hold the new value, then the value to compare with.
template <class Space>
struct atomic_compare_swap {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    using V = atomic_value<D>;
    const uint32_t exec = wave.exec_half();
    const uint32_t* sources = wave.vgpr(inst->data);
    const uint32_t* compares = sources + sizeof(V) / 4 * kLanes;
    return run_atomics<D>(wave, inst, exec, atomics_of(Space{}, wave, inst, exec),
                          [&](uint32_t lane, AtomicPlace place) {
                            const V source = lane_datum<V>(sources, lane);
                            const V compare = lane_datum<V>(compares, lane);
                            return place.shared
                                       ? compare_swap_shared<V>(place.host, source, compare)
                                       : compare_swap_lds<V>(place.host, source, compare);
                          });
  }
};

DOPPEL_END_LEVEL
