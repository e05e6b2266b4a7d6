#include "emulator/verify/shadow_map.h"

#include <algorithm>

namespace doppel::verify {

/// The segment that begins at `at`, made so if need be.
ShadowMap::Segments::iterator ShadowMap::split(uint64_t at) {
  const auto above = segments_.lower_bound(at);
  if (above != segments_.end() && above->first == at) return above;
  if (above == segments_.begin()) return segments_.emplace_hint(above, at, Segment{});
  return segments_.emplace_hint(above, at, std::prev(above)->second);
}

void ShadowMap::write(uint64_t begin, uint64_t end, const DeedRef& deed, bool atomic) {
  if (begin >= end) return;
  const auto first = split(begin);
  const auto last = split(end);
  segments_.erase(std::next(first), last);
  first->second = {deed, atomic, {}};
}

void ShadowMap::read(uint64_t begin, uint64_t end, const DeedRef& deed, const Past& past) {
  if (begin >= end) return;
  const auto first = split(begin);
  const auto last = split(end);
  for (auto at = first; at != last; ++at) {
    std::vector<DeedRef>& readers = at->second.readers;
    std::erase_if(readers, [&](const DeedRef& reader) {
      return reader->epoch == deed->epoch || past.order().covers(reader->epoch);
    });
    readers.push_back(deed);
  }
}

void ShadowMap::forget(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  const auto first = split(begin);
  const auto last = split(end);
  segments_.erase(std::next(first), last);
  first->second = {};
}

}  // namespace doppel::verify
