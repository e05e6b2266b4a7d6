#include "emulator/isa/buffer_resource.h"

namespace doppel::isa {
namespace {

constexpr uint32_t bits(uint32_t word, uint32_t high, uint32_t low) {
  return word >> low & ((uint64_t{1} << (high - low + 1)) - 1);
}

// gfx10.3 has one swizzle bit and elements of 4 bytes; gfx11 codes the element's size.
uint32_t swizzle_element(GfxFamily family, uint32_t word1) {
  if (family == GfxFamily::Gfx10_3) return bits(word1, 31, 31) != 0 ? 4 : 0;
  constexpr uint32_t kBytes[] = {0, 4, 8, 16};
  return kBytes[bits(word1, 31, 30)];
}

}  // namespace

BufferResource BufferResource::parse(GfxFamily family, std::span<const uint32_t, 4> words) {
  const bool gfx10 = family == GfxFamily::Gfx10_3;
  BufferResource resource;
  resource.base = words[0] | uint64_t{bits(words[1], 15, 0)} << 32;
  resource.stride = bits(words[1], 29, 16);
  resource.element_bytes = swizzle_element(family, words[1]);
  resource.num_records = words[2];
  for (uint32_t i = 0; i < 4; ++i) {
    resource.select[i] = static_cast<uint8_t>(bits(words[3], 3 * i + 2, 3 * i));
  }
  resource.format = gfx10 ? bits(words[3], 18, 12) : bits(words[3], 17, 12);
  resource.index_stride = 8u << bits(words[3], 22, 21);
  resource.add_tid = bits(words[3], 23, 23) != 0;
  resource.range_check = static_cast<RangeCheck>(bits(words[3], 29, 28));
  resource.payload_checked = !gfx10;
  return resource;
}

bool BufferResource::out_of_range(uint32_t index, uint64_t offset, uint32_t scalar_offset,
                                  uint32_t bytes) const {
  // Before gfx11 the first byte decides.
  const uint64_t end = offset + (payload_checked ? bytes : 1);
  switch (range_check) {
    case RangeCheck::StructuredWithOffset:
      return index >= num_records || end > stride;
    case RangeCheck::Structured:
      return index >= num_records;
    case RangeCheck::Empty:
      return num_records == 0;
    case RangeCheck::Raw:
      break;
  }
  if (!swizzled() || stride == 0) {
    const uint64_t linear = uint64_t{index} * stride + end + scalar_offset;
    return linear > num_records;
  }
  if (payload_checked) return index >= num_records || end > stride;
  return address(index, offset, 0) - base >= num_records;
}

uint64_t BufferResource::address(uint32_t index, uint64_t offset, uint32_t scalar_offset) const {
  const uint64_t begin = base + scalar_offset;
  if (!swizzled()) return begin + uint64_t{index} * stride + offset;
  const uint64_t index_high = index / index_stride;
  const uint64_t index_low = index % index_stride;
  const uint64_t offset_high = offset / element_bytes;
  const uint64_t offset_low = offset % element_bytes;
  return begin + (index_high * stride + offset_high * element_bytes) * index_stride +
         index_low * element_bytes + offset_low;
}

}  // namespace doppel::isa
