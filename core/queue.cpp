#include "core/queue.h"

#include <algorithm>
#include <cstring>

#include "core/assert.h"

namespace doppel {

std::string_view to_string(QueueKind kind) {
  switch (kind) {
    case QueueKind::Pm4:
      return "pm4";
    case QueueKind::Aql:
      return "aql";
    case QueueKind::Sdma:
      return "sdma";
  }
  return "?";
}

packets::Language language_of(QueueKind kind) {
  switch (kind) {
    case QueueKind::Pm4:
      return packets::Language::Pm4;
    case QueueKind::Aql:
      return packets::Language::Aql;
    case QueueKind::Sdma:
      return packets::Language::Sdma;
  }
  return packets::Language::Pm4;
}

uint32_t ArgumentBlock::reserve(uint32_t bytes, uint32_t alignment) {
  DOPPEL_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= kAlignment,
                "an argument's alignment is a power of two within the block's");
  const size_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
  bytes_.resize(offset + bytes);
  return static_cast<uint32_t>(offset);
}

void ArgumentBlock::place(std::span<std::byte> destination, uint64_t address,
                          std::span<uint32_t> dwords) const {
  DOPPEL_ASSERT(destination.size() == bytes_.size() && address % kAlignment == 0,
                "an argument block goes to an aligned place of its size");
  std::ranges::copy(bytes_, destination.begin());
  for (const Pointer& pointer : pointers_) {
    const uint64_t value = address + pointer.offset;
    std::memcpy(destination.data() + pointer.place, &value, sizeof value);
  }
  for (const Reference& reference : references_) {
    reference.patch.set(dwords, address + reference.offset);
  }
}

}  // namespace doppel
