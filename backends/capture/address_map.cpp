#include "backends/capture/address_map.h"

#include <cstring>
#include <iterator>

namespace doppel::capture {
namespace {

constexpr int kShift = 8;  // of COMPUTE_PGM and DISPATCH_SCRATCH_BASE

}  // namespace

std::optional<uint64_t> AddressMap::find(uint64_t recorded) const {
  const auto after = ranges_.upper_bound(recorded);
  if (after == ranges_.begin()) return std::nullopt;
  const auto& [begin, range] = *std::prev(after);
  if (recorded - begin >= range.size) return std::nullopt;
  return range.now + (recorded - begin);
}

void AddressMap::rewrite(std::span<std::byte> bytes) const {
  if (!moved_) return;
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size();) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    auto now = find(word);
    if (!now && word < uint64_t{1} << (64 - kShift)) {
      now = find(word << kShift);
      if (now) *now >>= kShift;
    }
    if (!now) {
      at += sizeof(uint32_t);
      continue;
    }
    std::memcpy(bytes.data() + at, &*now, sizeof *now);
    at += sizeof(uint64_t);
  }
}

}  // namespace doppel::capture
