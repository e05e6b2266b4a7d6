// What one lane moves to or from memory: an element's bytes, the registers it takes, and how
// narrow elements fill a register.
#pragma once

#include <cstdint>
#include <cstring>

#include "emulator/isa/operand.h"
#include "emulator/isa/semantics/row_shapes.h"

DOPPEL_BEGIN_LEVEL

template <OperandType T>
constexpr uint32_t element_bytes() {
  switch (T) {
    case U8:
    case I8:
    case B8:
      return 1;
    case U16:
    case I16:
    case B16:
    case F16:
      return 2;
    case B64:
    case I64:
    case U64:
    case F64:
      return 8;
    case B96:
      return 12;
    case B128:
      return 16;
    default:
      return 4;
  }
}

template <OperandType T>
constexpr uint32_t element_dwords() {
  return (element_bytes<T>() + 3) / 4;
}

/// The dword at `bytes` + 4 * `dword` of an element; narrow elements are extended.
template <OperandType T>
inline uint32_t load_dword(const std::byte* bytes, uint32_t dword) {
  if constexpr (T == I8) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(*bytes)));
  } else if constexpr (element_bytes<T>() == 1) {
    return static_cast<uint32_t>(*bytes);
  } else if constexpr (T == I16) {
    int16_t value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<uint32_t>(static_cast<int32_t>(value));
  } else if constexpr (element_bytes<T>() == 2) {
    uint16_t value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  } else {
    uint32_t value;
    std::memcpy(&value, bytes + 4 * dword, sizeof value);
    return value;
  }
}

template <OperandType T>
inline void store_dword(std::byte* bytes, uint32_t dword, uint32_t value) {
  constexpr uint32_t kBytes = element_bytes<T>() < 4 ? element_bytes<T>() : 4;
  std::memcpy(bytes + 4 * dword, &value, kBytes);
}

/// Which half of its register a 16-bit datum takes; Whole for all others.
enum class Half : uint8_t { Whole, Low, High };

/// A loaded dword as it merges into the register that held `old`.
template <Half kHalf>
constexpr uint32_t merge_half(uint32_t old, uint32_t loaded) {
  switch (kHalf) {
    case Half::Low:
      return (old & 0xffff0000) | (loaded & 0xffff);
    case Half::High:
      return (old & 0xffff) | loaded << 16;
    case Half::Whole:
      break;
  }
  return loaded;
}

DOPPEL_END_LEVEL
