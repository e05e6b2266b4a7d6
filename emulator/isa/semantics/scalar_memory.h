// SMEM: loads into scalar registers, through an address or a buffer resource, and the clocks.
#pragma once

#include "emulator/isa/buffer_resource.h"
#include "emulator/isa/semantics/global_memory.h"

DOPPEL_BEGIN_LEVEL

/// `dwords` dwords at `va`, dword aligned, into s[sdst...].
inline const Inst* load_scalars(Wave& wave, const Inst* inst, uint64_t va, uint32_t dwords) {
  uint32_t* destination = &wave.s[inst->sdst];
  const std::byte* host =
      translate(wave, wave.context->tlb[inst->site], va, uint64_t{dwords} * 4, Access::Read);
  if (host != nullptr) {
    if (wave.context->log) [[unlikely]]
      record_scalar(wave, inst, va, uint64_t{dwords} * 4);
    std::memcpy(destination, host, dwords * 4);
  } else {
    const std::span bytes(reinterpret_cast<std::byte*>(destination), dwords * 4);
    if (!read_memory(wave, inst, -1, va, bytes)) return nullptr;
  }
  wave.s[kNull] = 0;  // a wide load may cover it
  return inst + 1;
}

template <OperandType D>
constexpr uint32_t scalar_dwords() {
  switch (D) {
    case B64:
      return 2;
    case B128:
      return 4;
    case B256:
      return 8;
    case B512:
      return 16;
    default:
      return 1;
  }
}

struct scalar_load {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint64_t va = wave.pair(inst->saddr) + wave.s[inst->soffset] + memory_offset(*inst);
    return load_scalars(wave, inst, va & ~uint64_t{3}, scalar_dwords<D>());
  }
};

/// Dwords beyond NUM_RECORDS are 0. The stride counts only for the size.
struct scalar_buffer_load {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    constexpr uint32_t kDwords = scalar_dwords<D>();
    const auto resource = BufferResource::parse(
        wave.target->family, std::span<const uint32_t, 4>(&wave.s[inst->saddr], 4));
    const uint64_t size = uint64_t{resource.num_records} * std::max(resource.stride, 1u);
    const uint64_t offset = (wave.s[inst->soffset] + memory_offset(*inst)) & ~uint64_t{3};
    const uint64_t va = (resource.base & ~uint64_t{3}) + offset;
    if (offset < size && size - offset >= kDwords * 4) {
      return load_scalars(wave, inst, va, kDwords);
    }
    std::array<uint32_t, kDwords> loaded{};
    for (uint32_t d = 0; d < kDwords; ++d) {
      if (offset + 4 * d >= size || size - offset - 4 * d < 4) continue;
      auto* bytes = reinterpret_cast<std::byte*>(&loaded[d]);
      if (!read_memory(wave, inst, -1, va + 4 * d, {bytes, 4})) return nullptr;
    }
    std::memcpy(&wave.s[inst->sdst], loaded.data(), sizeof loaded);
    wave.s[kNull] = 0;
    return inst + 1;
  }
};

/// S_MEMTIME and S_MEMREALTIME (gfx10.3): the GPU's counter, from the injected clock. The core
/// clock's counter is modelled at the same rate.
struct scalar_clock {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    wave.set_pair(inst->sdst, gpu_ticks(wave.context->clock->now_ns()));
    wave.s[kNull] = 0;
    return inst + 1;
  }
};

DOPPEL_END_LEVEL
