#include "emulator/isa/buffer_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace doppel::isa {
namespace {

constexpr int8_t _ = -1;  // "does not exist" in a row
constexpr std::array kFormats = {
#define BUFFER_FORMAT(name, gfx10, gfx11, x, y, z, w, numeric) \
  BufferFormat{#name, gfx10, gfx11, {x, y, z, w}, NumericFormat::numeric},
#include "emulator/isa/buffer_formats.inc"
#undef BUFFER_FORMAT
};

/// A float without implicit sizes: 16-bit halves, and the unsigned 10- and 11-bit ones.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  bool has_sign;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint32_t exponent_ones() const { return (1u << exponent_bits) - 1; }
};

SmallFloat small_float(uint32_t bits) {
  if (bits == 16) return {5, 10, true};
  return {5, static_cast<int>(bits) - 5, false};
}

float unpack_small(SmallFloat format, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t exponent = bits >> format.mantissa_bits & format.exponent_ones();
  const bool negative =
      format.has_sign && (bits >> (format.mantissa_bits + format.exponent_bits) & 1) != 0;
  if (exponent == format.exponent_ones()) {
    const uint32_t wide = 0x7f800000 | mantissa << (23 - format.mantissa_bits);
    return std::bit_cast<float>(wide | (negative ? 0x80000000 : 0));
  }
  const int scale = std::max(static_cast<int>(exponent), 1) - format.bias() - format.mantissa_bits;
  const uint32_t implicit = exponent == 0 ? 0 : 1u << format.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(mantissa | implicit), scale);
  return negative ? -value : value;
}

uint32_t pack_small(SmallFloat format, float value) {
  const uint32_t sign_bit = format.has_sign && std::signbit(value)
                                ? 1u << (format.exponent_bits + format.mantissa_bits)
                                : 0;
  const uint32_t infinity = format.exponent_ones() << format.mantissa_bits;
  if (std::isnan(value)) return sign_bit | infinity | 1u << (format.mantissa_bits - 1);
  if (!format.has_sign && value < 0) return 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude == 0) return sign_bit;
  if (std::isinf(magnitude)) return sign_bit | infinity;
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  const double scaled = std::ldexp(magnitude, format.mantissa_bits - exponent);
  const auto rounded = static_cast<uint64_t>(std::nearbyint(scaled));
  // A mantissa that rounds up to the next power of two carries into the exponent.
  const uint64_t biased = static_cast<uint64_t>(exponent + format.bias() - 1)
                          << format.mantissa_bits;
  return sign_bit | static_cast<uint32_t>(std::min<uint64_t>(biased + rounded, infinity));
}

uint32_t low_mask(uint32_t bits) {
  return bits == 32 ? ~0u : (1u << bits) - 1;
}

int32_t sign_extend(uint32_t value, uint32_t bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

uint32_t bit_offset(const BufferFormat& format, uint32_t index) {
  uint32_t offset = 0;
  for (uint32_t i = 0; i < index; ++i) offset += format.bits[i];
  return offset;
}

uint32_t float_bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

uint32_t convert_from_memory(NumericFormat numeric, uint32_t raw, uint32_t bits) {
  const auto largest = static_cast<float>(low_mask(bits));
  const auto largest_signed = static_cast<float>(low_mask(bits - 1));
  switch (numeric) {
    case NumericFormat::Unorm:
      return float_bits(static_cast<float>(raw) / largest);
    case NumericFormat::Snorm:
      return float_bits(
          std::max(static_cast<float>(sign_extend(raw, bits)) / largest_signed, -1.f));
    case NumericFormat::Uscaled:
      return float_bits(static_cast<float>(raw));
    case NumericFormat::Sscaled:
      return float_bits(static_cast<float>(sign_extend(raw, bits)));
    case NumericFormat::Uint:
      return raw;
    case NumericFormat::Sint:
      return static_cast<uint32_t>(sign_extend(raw, bits));
    case NumericFormat::Float:
      break;
  }
  return bits == 32 ? raw : float_bits(unpack_small(small_float(bits), raw));
}

// NaN becomes 0.
uint32_t to_clamped_integer(float value, float lowest, float highest) {
  if (std::isnan(value)) return 0;
  const float rounded = std::nearbyint(std::clamp(value, lowest, highest));
  return static_cast<uint32_t>(static_cast<int64_t>(rounded));
}

uint32_t convert_to_memory(NumericFormat numeric, uint32_t value, uint32_t bits) {
  const auto number = std::bit_cast<float>(value);
  const auto largest = static_cast<float>(low_mask(bits));
  const auto largest_signed = static_cast<float>(low_mask(bits - 1));
  switch (numeric) {
    case NumericFormat::Unorm:
      return to_clamped_integer(std::clamp(number, 0.f, 1.f) * largest, 0, largest);
    case NumericFormat::Snorm:
      return to_clamped_integer(std::clamp(number, -1.f, 1.f) * largest_signed, -largest_signed,
                                largest_signed);
    case NumericFormat::Uscaled:
      return to_clamped_integer(number, 0, largest);
    case NumericFormat::Sscaled:
      return to_clamped_integer(number, -largest_signed - 1, largest_signed);
    case NumericFormat::Uint:
      return std::min(value, low_mask(bits));
    case NumericFormat::Sint: {
      const auto limit = static_cast<int32_t>(low_mask(bits - 1));
      return static_cast<uint32_t>(std::clamp(static_cast<int32_t>(value), -limit - 1, limit));
    }
    case NumericFormat::Float:
      break;
  }
  return bits == 32 ? value : pack_small(small_float(bits), number);
}

}  // namespace

uint32_t BufferFormat::components() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(bits, [](uint8_t width) { return width != 0; }));
}

uint32_t BufferFormat::bytes() const {
  return bit_offset(*this, 4) / 8;
}

uint32_t BufferFormat::unpack(std::span<const std::byte> element, uint32_t index) const {
  const uint32_t begin = bit_offset(*this, index);
  const uint32_t first = begin / 32 * 4;  // the dword that holds it; no component straddles one
  uint32_t word = 0;
  std::memcpy(&word, element.data() + first, std::min<size_t>(4, element.size() - first));
  const uint32_t raw = word >> (begin % 32) & low_mask(bits[index]);
  return convert_from_memory(numeric, raw, bits[index]);
}

void BufferFormat::pack(std::span<std::byte> element, uint32_t index, uint32_t value) const {
  const uint32_t begin = bit_offset(*this, index);
  const uint32_t first = begin / 32 * 4;
  const size_t size = std::min<size_t>(4, element.size() - first);
  const uint32_t mask = low_mask(bits[index]);
  uint32_t word = 0;
  std::memcpy(&word, element.data() + first, size);
  word &= ~(mask << (begin % 32));
  word |= (convert_to_memory(numeric, value, bits[index]) & mask) << (begin % 32);
  std::memcpy(element.data() + first, &word, size);
}

const BufferFormat* find_buffer_format(GfxFamily family, uint32_t number) {
  const auto column = family == GfxFamily::Gfx10_3 ? &BufferFormat::gfx10 : &BufferFormat::gfx11;
  const auto* row = std::ranges::find_if(kFormats, [&](const BufferFormat& format) {
    return format.*column >= 0 && static_cast<uint32_t>(format.*column) == number;
  });
  return row == kFormats.end() ? nullptr : row;
}

std::string_view buffer_format_name(GfxFamily family, uint32_t number) {
  const BufferFormat* format = find_buffer_format(family, number);
  return format == nullptr ? std::string_view() : format->name;
}

uint16_t to_half_bits(float value) {
  return static_cast<uint16_t>(pack_small(small_float(16), value));
}
float from_half_bits(uint16_t bits) {
  return unpack_small(small_float(16), bits);
}

}  // namespace doppel::isa
