// Footprint: the bytes that a step has read and written, by buffer and offset, so that those of two
// runs of the same program can be compared. Value type.
#pragma once

#include <cstdint>
#include <map>

namespace doppel::verify {

class Footprint {
 public:
  /// Bytes [begin, end) of a buffer, by its number in order of creation.
  void add(uint64_t buffer, uint64_t begin, uint64_t end, bool write);
  void add(const Footprint& other);

  /// Whether some byte is touched by both and written by one.
  bool conflicts(const Footprint& other) const;
  bool empty() const { return read_.empty() && written_.empty(); }

 private:
  /// Disjoint ranges of keys: first to end.
  using Ranges = std::map<uint64_t, uint64_t>;
  static void insert(Ranges& ranges, uint64_t begin, uint64_t end);
  static bool overlap(const Ranges& a, const Ranges& b);

  Ranges read_, written_;
};

}  // namespace doppel::verify
