// AddressMap: where recorded address ranges are in a replay, and the rewriting of words that point
// into those that were moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace doppel::capture {

class AddressMap {
 public:
  void add(uint64_t recorded, uint64_t size, uint64_t now) {
    ranges_[recorded] = {size, now};
    moved_ |= recorded != now;
  }
  void remove(uint64_t recorded) { ranges_.erase(recorded); }

  bool moved() const { return moved_; }

  /// The address now; nullopt outside of all ranges.
  std::optional<uint64_t> find(uint64_t recorded) const;
  /// The same, or the address itself.
  uint64_t operator()(uint64_t recorded) const { return find(recorded).value_or(recorded); }

  /// Rewrites the words of recorded memory that point into moved ranges.
  void rewrite(std::span<std::byte> bytes) const;

 private:
  struct Range {
    uint64_t size = 0;
    uint64_t now = 0;
  };
  std::map<uint64_t, Range> ranges_;  // by recorded address
  bool moved_ = false;
};

}  // namespace doppel::capture
