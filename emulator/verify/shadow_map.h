// ShadowMap: for each byte of memory, who wrote it last and who has read it since. Memory is named
// by where its bytes really are (host address), so that one buffer mapped on several GPUs, or seen
// by the host, is one buffer.
//
// Costs O(log s + k) a range, with s the segments there are and k those that the range meets; a
// write makes one segment of its range again. Not thread-safe.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "emulator/verify/deed.h"
#include "emulator/verify/past.h"

namespace doppel::verify {

class ShadowMap {
 public:
  struct Segment {
    DeedRef writer;
    bool atomic = false;  // that write was an atomic one
    std::vector<DeedRef> readers;
  };

  /// Calls visit(begin, end, segment) for the bytes in [begin, end) that somebody has accessed.
  template <class Visit>
  void visit(uint64_t begin, uint64_t end, Visit&& visit) const {
    auto at = segments_.upper_bound(begin);
    if (at != segments_.begin()) --at;
    for (; at != segments_.end() && at->first < end; ++at) {
      const auto next = std::next(at);
      const uint64_t segment_end = next == segments_.end() ? ~uint64_t{0} : next->first;
      if (segment_end <= begin) continue;
      if (!at->second.writer && at->second.readers.empty()) continue;
      visit(std::max(begin, at->first), std::min(end, segment_end), at->second);
    }
  }

  /// The bytes belong to the write now; earlier accesses are forgotten.
  void write(uint64_t begin, uint64_t end, const DeedRef& deed, bool atomic);

  /// Adds a reader; those that happened before it (`past`) need not be remembered.
  void read(uint64_t begin, uint64_t end, const DeedRef& deed, const Past& past);

  /// Forgets the bytes: the memory has been given back.
  void forget(uint64_t begin, uint64_t end);

  size_t segments() const { return segments_.size(); }

 private:
  using Segments = std::map<uint64_t, Segment>;  // by first byte, up to the next key

  Segments::iterator split(uint64_t at);

  Segments segments_;
};

}  // namespace doppel::verify
