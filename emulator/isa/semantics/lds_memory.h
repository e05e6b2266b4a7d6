// LDS: a workgroup's shared memory, as DS instructions and FLAT's shared aperture reach it. Beyond
// the workgroup's allocation loads give 0 and stores vanish (RDNA3 ISA manual, "LDS:
// out-of-range"); the wave counts such accesses. A workgroup runs on one thread, so that plain
// accesses suffice for its atomics.
#pragma once

#include <algorithm>

#include "emulator/isa/semantics/global_memory.h"

DOPPEL_BEGIN_LEVEL

/// The element at byte `address` of the LDS, or nullptr if it lies outside.
inline std::byte* lds_element(Wave& wave, uint64_t address, uint32_t bytes) {
  if (address + bytes <= wave.lds.size()) [[likely]]
    return wave.lds.data() + address;
  ++wave.context->lds_out_of_range;
  return nullptr;
}

/// As open_window, for LDS byte addresses low[lane] + offset.
inline bool open_lds_window(Wave& wave, const uint32_t* low, uint32_t offset, uint32_t exec,
                            uint32_t bytes, Window& window) {
  const uint32_t first_low = low[std::countr_zero(exec)];
  uint32_t highest = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t on = 0u - (exec >> l & 1u);
    window.offset[l] = (low[l] & on) | (first_low & ~on);
    highest = std::max(highest, window.offset[l]);
  }
  window.host = wave.lds.data() + offset;
  return uint64_t{highest} + offset + bytes <= wave.lds.size();
}

template <OperandType T>
void load_lds_lane(Wave& wave, uint32_t lane, uint64_t address, uint32_t* out) {
  const std::byte* from = lds_element(wave, address, element_bytes<T>());
  for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
    out[d * kLanes + lane] = from != nullptr ? load_dword<T>(from, d) : 0;
  }
}

template <OperandType T>
void store_lds_lane(Wave& wave, uint32_t lane, uint64_t address, const uint32_t* data) {
  std::byte* to = lds_element(wave, address, element_bytes<T>());
  if (to == nullptr) return;
  for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
    store_dword<T>(to, d, data[d * kLanes + lane]);
  }
}

template <OperandType T>
void load_lds(Wave& wave, const uint32_t* low, uint32_t offset, uint32_t exec, uint32_t* out) {
  Window window;
  if (open_lds_window(wave, low, offset, exec, element_bytes<T>(), window)) {
    gather<T>(window, out);
    return;
  }
  for_each_lane(exec, [&](uint32_t lane) {
    load_lds_lane<T>(wave, lane, uint64_t{low[lane]} + offset, out);
    return true;
  });
}

template <OperandType T>
void store_lds(Wave& wave, const uint32_t* low, uint32_t offset, uint32_t exec,
               const uint32_t* data) {
  Window window;
  if (open_lds_window(wave, low, offset, exec, element_bytes<T>(), window)) {
    scatter<T>(window, data, exec);
    return;
  }
  for_each_lane(exec, [&](uint32_t lane) {
    store_lds_lane<T>(wave, lane, uint64_t{low[lane]} + offset, data);
    return true;
  });
}

DOPPEL_END_LEVEL
