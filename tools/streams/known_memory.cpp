#include "tools/streams/known_memory.h"

#include <algorithm>
#include <utility>

namespace doppel::streams {

void KnownMemory::add(uint64_t address, std::vector<uint32_t> dwords) {
  ranges_[address] = std::move(dwords);
}

std::span<const uint32_t> KnownMemory::at(uint64_t address, size_t dwords) const {
  auto range = ranges_.upper_bound(address);
  if (range != ranges_.begin() &&
      address % sizeof(uint32_t) == (--range)->first % sizeof(uint32_t)) {
    const std::span<const uint32_t> known(range->second);
    const uint64_t first = (address - range->first) / sizeof(uint32_t);
    if (first < known.size()) {
      return known.subspan(first, std::min<size_t>(dwords, known.size() - first));
    }
  }
  return fallback_ == nullptr ? std::span<const uint32_t>() : fallback_->at(address, dwords);
}

}  // namespace doppel::streams
