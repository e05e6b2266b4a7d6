// BufferResource: the four SGPRs ("V#") through which MUBUF, MTBUF and S_BUFFER_LOAD reach memory:
// base, stride, size, swizzle and range check.
//
// Sources: AMD's RDNA2 and RDNA3 ISA manuals, section "Buffer Resource Descriptor", "Buffer
// Addressing" and "Range Checking".
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/target.h"

namespace doppel::isa {

/// OOB_SELECT: what lies out of range.
enum class RangeCheck : uint8_t {
  StructuredWithOffset = 0,  // index >= NUM_RECORDS, or beyond the stride
  Structured = 1,            // index >= NUM_RECORDS
  Empty = 2,                 // everything, if NUM_RECORDS is 0
  Raw = 3,                   // bytes beyond NUM_RECORDS
};

struct BufferResource {
  uint64_t base = 0;
  uint32_t stride = 0;         // bytes
  uint32_t num_records = 0;    // bytes of raw buffers, elements of structured ones
  uint32_t element_bytes = 0;  // swizzled: what stays together; 0: linear
  uint32_t index_stride = 8;   // swizzled: elements that interleave
  bool add_tid = false;        // the lane's number is added to the index
  RangeCheck range_check = RangeCheck::Raw;
  std::array<uint8_t, 4> select{};  // DST_SEL_X..W: 0, 1 (constants), 4..7 (x..w)
  uint32_t format = 0;              // number, see buffer_format.h
  bool payload_checked = true;      // range checks count the access's size (gfx11)

  static BufferResource parse(GfxFamily family, std::span<const uint32_t, 4> words);

  bool swizzled() const { return element_bytes != 0; }

  /// True if an access of `bytes` at (index, offset) is refused: a load gives 0, a store vanishes.
  /// `scalar_offset` counts for raw buffers only.
  bool out_of_range(uint32_t index, uint64_t offset, uint32_t scalar_offset, uint32_t bytes) const;

  /// The GPU address of (index, offset).
  uint64_t address(uint32_t index, uint64_t offset, uint32_t scalar_offset) const;
};

}  // namespace doppel::isa
