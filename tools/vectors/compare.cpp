#include "tools/vectors/compare.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace doppel::vectors {
namespace {

constexpr uint32_t kDefaultUlp = 2;

struct FloatLayout {
  int bits;
  int mantissa_bits;
};

FloatLayout layout_of(FloatType type) {
  switch (type) {
    case FloatType::F16x2:
      return {16, 10};
    case FloatType::Bf16x2:
      return {16, 7};
    case FloatType::F64:
      return {64, 52};
    case FloatType::F32:
    case FloatType::None:
      break;
  }
  return {32, 23};
}

uint64_t low_bits(int bits) {
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// Maps bit patterns onto integers that are ordered as the values are.
__int128 ordered(FloatLayout layout, uint64_t pattern) {
  const uint64_t magnitude = pattern & low_bits(layout.bits - 1);
  const bool negative = (pattern >> (layout.bits - 1)) & 1;
  return negative ? -static_cast<__int128>(magnitude) : static_cast<__int128>(magnitude);
}

bool is_nan(FloatLayout layout, uint64_t pattern) {
  const uint64_t exponent_all_ones = low_bits(layout.bits - 1) & ~low_bits(layout.mantissa_bits);
  return (pattern & low_bits(layout.bits - 1)) > exponent_all_ones;
}

uint32_t load32(std::span<const std::byte> bytes, size_t offset) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + offset, std::min<size_t>(4, bytes.size() - offset));
  return value;
}

// The dword at `offset` with the bytes that the mask ignores set to 0.
uint32_t masked(uint32_t value, std::span<const std::byte> mask, size_t offset) {
  for (size_t i = 0; i < 4; ++i) {
    const bool compared = offset + i < mask.size() && mask[offset + i] != std::byte{0};
    if (!compared) value &= ~(uint32_t{0xff} << (8 * i));
  }
  return value;
}

bool is_vector_output(const IsaCase& expected, size_t offset) {
  return expected.layout == OutputLayout::Lanes1 || offset < size_t{64} * expected.block[0];
}

bool close_halves(const IsaCase& expected, uint32_t a, uint32_t b, uint64_t limit) {
  return ulp_distance(expected.float_type, a & 0xffff, b & 0xffff) <= limit &&
         ulp_distance(expected.float_type, a >> 16, b >> 16) <= limit;
}

// An f64 is a register pair: the other half is a row of lanes away, on either side.
bool close_doubles(const IsaCase& expected, std::span<const std::byte> got, size_t offset,
                   uint64_t limit) {
  const size_t row = size_t{4} * expected.block[0];
  const size_t vectors_end = size_t{16} * row;
  const auto pair_is_close = [&](size_t low, size_t high) {
    const auto join = [&](std::span<const std::byte> bytes) {
      return load32(bytes, low) | uint64_t{load32(bytes, high)} << 32;
    };
    return ulp_distance(FloatType::F64, join(expected.expected), join(got)) <= limit;
  };
  if (expected.layout != OutputLayout::State16 || row == 0) return false;
  return (offset + row < vectors_end && pair_is_close(offset, offset + row)) ||
         (offset >= row && pair_is_close(offset - row, offset));
}

bool is_close(const IsaCase& expected, std::span<const std::byte> got, size_t offset) {
  if (!expected.approximate() || !is_vector_output(expected, offset)) return false;
  const uint64_t limit = expected.ulp == 0 ? kDefaultUlp : expected.ulp;
  const uint32_t a = load32(expected.expected, offset);
  const uint32_t b = load32(got, offset);
  switch (expected.float_type) {
    case FloatType::F32:
      return ulp_distance(FloatType::F32, a, b) <= limit;
    case FloatType::F16x2:
    case FloatType::Bf16x2:
      return close_halves(expected, a, b, limit);
    case FloatType::F64:
      return close_doubles(expected, got, offset, limit);
    case FloatType::None:
      break;
  }
  return false;
}

bool asserted(std::span<const std::byte> mask, size_t offset) {
  const auto dword = mask.subspan(offset, std::min<size_t>(4, mask.size() - offset));
  return std::ranges::find(dword, static_cast<std::byte>(MaskByte::Asserted)) != dword.end();
}

}  // namespace

uint64_t ulp_distance(FloatType type, uint64_t a, uint64_t b) {
  const FloatLayout layout = layout_of(type);
  const bool a_nan = is_nan(layout, a);
  if (a_nan != is_nan(layout, b)) return std::numeric_limits<uint64_t>::max();
  if (a_nan) return 0;
  const __int128 distance = ordered(layout, a) - ordered(layout, b);
  return static_cast<uint64_t>(distance < 0 ? -distance : distance);
}

std::optional<Mismatch> compare_output(const IsaCase& expected, std::span<const std::byte> got) {
  std::optional<Mismatch> first;
  for (size_t offset = 0; offset < expected.expected.size(); offset += 4) {
    const uint32_t want = masked(load32(expected.expected, offset), expected.mask, offset);
    const uint32_t have = masked(load32(got, offset), expected.mask, offset);
    if (want == have || is_close(expected, got, offset)) continue;
    if (first) {
      ++first->others;
      continue;
    }
    first = Mismatch{.offset = static_cast<uint32_t>(offset),
                     .where = expected.output_name(static_cast<uint32_t>(offset)),
                     .expected = want,
                     .got = have,
                     .hardware_checked = asserted(expected.mask, offset)};
  }
  return first;
}

}  // namespace doppel::vectors
