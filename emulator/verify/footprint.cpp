#include "emulator/verify/footprint.h"

#include <algorithm>
#include <iterator>

namespace doppel::verify {
namespace {

constexpr int kOffsetBits = 44;  // no buffer is larger

}  // namespace

void Footprint::insert(Ranges& ranges, uint64_t begin, uint64_t end) {
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin() && std::prev(at)->second >= begin) --at;
  while (at != ranges.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ranges.erase(at);
  }
  ranges.emplace(begin, end);
}

void Footprint::add(uint64_t buffer, uint64_t begin, uint64_t end, bool write) {
  const uint64_t base = buffer << kOffsetBits;
  insert(write ? written_ : read_, base + begin, base + end);
}

void Footprint::add(const Footprint& other) {
  for (const auto& [begin, end] : other.read_) insert(read_, begin, end);
  for (const auto& [begin, end] : other.written_) insert(written_, begin, end);
}

bool Footprint::overlap(const Ranges& a, const Ranges& b) {
  auto one = a.begin();
  auto two = b.begin();
  while (one != a.end() && two != b.end()) {
    if (one->second <= two->first) {
      ++one;
    } else if (two->second <= one->first) {
      ++two;
    } else {
      return true;
    }
  }
  return false;
}

bool Footprint::conflicts(const Footprint& other) const {
  return overlap(written_, other.written_) || overlap(written_, other.read_) ||
         overlap(read_, other.written_);
}

}  // namespace doppel::verify
