// Window: host memory that all active lanes of an access fall into, and each lane's offset there.
// Once an access has one, moving its data is plain array work; lanes that are off repeat an active
// lane's offset, so that loads need no mask.
#pragma once

#include <bit>
#include <cstddef>

#include "emulator/isa/semantics/lanes.h"
#include "emulator/isa/semantics/memory_element.h"

DOPPEL_BEGIN_LEVEL

struct Window {
  std::byte* host = nullptr;
  alignas(64) uint32_t offset[kLanes];

  /// Lane l's element follows lane l-1's.
  template <uint32_t kBytes>
  bool contiguous() const {
    uint32_t difference = 0;
    const uint32_t first = offset[0];
    for (uint32_t l = 0; l < kLanes; ++l) difference |= offset[l] ^ (first + l * kBytes);
    return difference == 0;
  }
};

/// 32 elements, `out` holding their dwords register by register.
template <OperandType T>
void gather(const Window& window, uint32_t* out) {
  constexpr uint32_t kDwords = element_dwords<T>();
  if constexpr (element_bytes<T>() >= 4) {
    if (window.template contiguous<element_bytes<T>()>()) {
      const std::byte* from = window.host + window.offset[0];
      alignas(64) uint32_t elements[kLanes * kDwords];
      if constexpr (kDwords == 1) {
        std::memcpy(out, from, sizeof elements);
      } else {
        std::memcpy(elements, from, sizeof elements);
        for (uint32_t d = 0; d < kDwords; ++d) {
          for (uint32_t l = 0; l < kLanes; ++l) out[d * kLanes + l] = elements[l * kDwords + d];
        }
      }
      return;
    }
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    const std::byte* from = window.host + window.offset[l];
    for (uint32_t d = 0; d < kDwords; ++d) out[d * kLanes + l] = load_dword<T>(from, d);
  }
}

/// Stores the elements of the lanes in `exec`, lowest lane first.
template <OperandType T>
void scatter(const Window& window, const uint32_t* data, uint32_t exec) {
  constexpr uint32_t kDwords = element_dwords<T>();
  if constexpr (element_bytes<T>() >= 4) {
    if (exec == ~0u && window.template contiguous<element_bytes<T>()>()) {
      std::byte* to = window.host + window.offset[0];
      if constexpr (kDwords == 1) {
        std::memcpy(to, data, kLanes * 4);
      } else {
        alignas(64) uint32_t elements[kLanes * kDwords];
        for (uint32_t d = 0; d < kDwords; ++d) {
          for (uint32_t l = 0; l < kLanes; ++l) elements[l * kDwords + d] = data[d * kLanes + l];
        }
        std::memcpy(to, elements, sizeof elements);
      }
      return;
    }
  }
  for (; exec != 0; exec &= exec - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(exec));
    std::byte* to = window.host + window.offset[l];
    for (uint32_t d = 0; d < kDwords; ++d) store_dword<T>(to, d, data[d * kLanes + l]);
  }
}

/// Loaded registers into the destination, under EXEC.
template <OperandType T, Half kHalf>
void write_loaded(uint32_t* destination, uint32_t* loaded, uint32_t exec) {
  for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
    uint32_t* to = destination + d * kLanes;
    uint32_t* from = loaded + d * kLanes;
    if constexpr (kHalf != Half::Whole) {
      for (uint32_t l = 0; l < kLanes; ++l) from[l] = merge_half<kHalf>(to[l], from[l]);
    }
    blend(to, from, exec);
  }
}

DOPPEL_END_LEVEL
