// BufferFormat: how typed buffer accesses convert between memory and registers. The rows of
// buffer_formats.inc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/target.h"

namespace doppel::isa {

enum class NumericFormat : uint8_t { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float };

struct BufferFormat {
  std::string_view name;          // "8_8_8_8_UNORM"
  int8_t gfx10 = -1;              // number on gfx10.3; -1: does not exist there
  int8_t gfx11 = -1;              // on gfx11 and gfx11.5
  std::array<uint8_t, 4> bits{};  // of x, y, z, w
  NumericFormat numeric = NumericFormat::Uint;

  uint32_t components() const;
  uint32_t bytes() const;  // of an element
  bool is_integer() const {
    return numeric == NumericFormat::Uint || numeric == NumericFormat::Sint;
  }

  /// Component `index` of an element as a register holds it: a float, or an integer.
  uint32_t unpack(std::span<const std::byte> element, uint32_t index) const;
  /// Stores a register's value as component `index`.
  void pack(std::span<std::byte> element, uint32_t index, uint32_t value) const;
};

/// The format with this number, or nullptr.
const BufferFormat* find_buffer_format(GfxFamily family, uint32_t number);

/// "8_8_8_8_UNORM", by number; empty if there is none.
std::string_view buffer_format_name(GfxFamily family, uint32_t number);

/// f16 bits of a float, to nearest even, and back: D16 accesses convert.
uint16_t to_half_bits(float value);
float from_half_bits(uint16_t bits);

}  // namespace doppel::isa
