// FLAT: an address that may point into the shared aperture (LDS), the private aperture (scratch) or
// global memory, lane by lane; and the shapes of loads and stores of every address space.
#pragma once

#include "emulator/isa/semantics/lds_memory.h"
#include "emulator/isa/semantics/scratch_memory.h"

DOPPEL_BEGIN_LEVEL

/// Which lanes of a FLAT access point where.
struct FlatLanes {
  uint32_t shared = 0;
  uint32_t scratch = 0;
  uint32_t global = 0;
};

inline FlatLanes classify(const Wave& wave, const LaneAddresses& addresses, uint32_t exec) {
  const auto shared_high = static_cast<uint32_t>(wave.apertures[0] >> 32);
  const auto private_high = static_cast<uint32_t>(wave.apertures[2] >> 32);
  uint32_t shared = 0;
  uint32_t scratch = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const auto high = static_cast<uint32_t>(addresses[l] >> 32);
    shared |= (high == shared_high ? 1u : 0u) << l;
    scratch |= (high == private_high ? 1u : 0u) << l;
  }
  return {shared & exec, scratch & exec, exec & ~(shared | scratch)};
}

struct Flat {
  template <OperandType T>
  static bool load(Wave& wave, const Inst* inst, uint32_t exec, uint32_t* out) {
    const LaneAddresses addresses = global_addresses(wave, *inst);
    const FlatLanes lanes = classify(wave, addresses, exec);
    if (lanes.global == exec) return load_from<T>(wave, inst, addresses, exec, out);
    ScratchArea area;
    if (lanes.scratch != 0 && !area.open(wave, inst, Access::Read)) return false;
    return for_each_lane(exec, [&](uint32_t lane) {
      const uint64_t address = addresses[lane];
      const auto offset = static_cast<uint32_t>(address);
      if (lanes.global >> lane & 1) return load_lane<T>(wave, inst, lane, address, out);
      if (lanes.shared >> lane & 1) {
        load_lds_lane<T>(wave, lane, offset, out);
        return true;
      }
      constexpr uint32_t kBytes = element_bytes<T>();
      if (!check_scratch_lane(wave, inst, area, lane, offset, kBytes, Access::Read)) return false;
      load_scratch_lane<T>(area, lane, offset, out);
      return true;
    });
  }

  template <OperandType T>
  static bool store(Wave& wave, const Inst* inst, uint32_t exec, const uint32_t* data) {
    const LaneAddresses addresses = global_addresses(wave, *inst);
    const FlatLanes lanes = classify(wave, addresses, exec);
    if (lanes.global == exec) return store_to<T>(wave, inst, addresses, exec, data);
    ScratchArea area;
    if (lanes.scratch != 0 && !area.open(wave, inst, Access::Write)) return false;
    return for_each_lane(exec, [&](uint32_t lane) {
      const uint64_t address = addresses[lane];
      const auto offset = static_cast<uint32_t>(address);
      if (lanes.global >> lane & 1) return store_lane<T>(wave, inst, lane, address, data);
      if (lanes.shared >> lane & 1) {
        store_lds_lane<T>(wave, lane, offset, data);
        return true;
      }
      constexpr uint32_t kBytes = element_bytes<T>();
      if (!check_scratch_lane(wave, inst, area, lane, offset, kBytes, Access::Write)) return false;
      store_scratch_lane<T>(area, lane, offset, data);
      return true;
    });
  }
};

/// Loads that go to LDS instead of registers: M0 plus the instruction's offset plus four times the
/// lane's number is where (RDNA2 ISA manual, "Memory Buffer Load to LDS").
template <OperandType T>
struct to_lds {
  template <class Space>
  struct from {
    static constexpr Scope scope = Scope::Lanes;
    static constexpr bool implemented = true;
    template <OperandType D, OperandType A, OperandType B, OperandType C>
    static const Inst* run(Wave& wave, const Inst* inst) {
      const uint32_t exec = wave.exec_half();
      if (exec == 0) return inst + 1;
      alignas(64) uint32_t loaded[kLanes * element_dwords<T>()];
      if (!Space::template load<T>(wave, inst, exec, loaded)) return nullptr;
      alignas(64) uint32_t low[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) low[l] = (wave.half * kLanes + l) * 4;
      store_lds<B32>(wave, low, (wave.s[kM0] & 0xffff) + inst->literal, exec, loaded);
      return inst + 1;
    }
  };
};

template <class Space, Half kHalf>
struct loads {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    if constexpr (kHalf == Half::Whole) {
      using ToLds = typename to_lds<D>::template from<Space>;
      if ((inst->flags & kLds) != 0) [[unlikely]] {
        return ToLds::template run<D, A, B, C>(wave, inst);
      }
    }
    const uint32_t exec = wave.exec_half();
    if (exec == 0) return inst + 1;
    uint32_t* destination = wave.destination(*inst);
    alignas(64) uint32_t loaded[kLanes * element_dwords<D>()];
    const bool direct = kHalf == Half::Whole && exec == ~0u;
    if (!Space::template load<D>(wave, inst, exec, direct ? destination : loaded)) return nullptr;
    if (!direct) write_loaded<D, kHalf>(destination, loaded, exec);
    return inst + 1;
  }
};

template <class Space, Half kHalf>
struct stores {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint32_t exec = wave.exec_half();
    if (exec == 0) return inst + 1;
    const uint32_t* data = wave.vgpr(inst->data);
    if constexpr (kHalf == Half::High) {
      alignas(64) uint32_t high[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) high[l] = data[l] >> 16;
      return Space::template store<A>(wave, inst, exec, high) ? inst + 1 : nullptr;
    } else {
      return Space::template store<A>(wave, inst, exec, data) ? inst + 1 : nullptr;
    }
  }
};

template <class Space>
struct load : loads<Space, Half::Whole> {};
template <class Space>
struct load_low : loads<Space, Half::Low> {};
template <class Space>
struct load_high : loads<Space, Half::High> {};
template <class Space>
struct store : stores<Space, Half::Whole> {};
template <class Space>
struct store_high : stores<Space, Half::High> {};

DOPPEL_END_LEVEL
