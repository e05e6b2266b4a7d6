// ArgumentRing: places for argument blocks in one buffer, first in, first out. A place is not
// handed out again before the submission that it was tagged with has retired.
//
// Knows addresses as offsets only, no memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace doppel::kfd {

class ArgumentRing {
 public:
  ArgumentRing() = default;
  /// `bytes` is a multiple of `alignment`, a power of two.
  ArgumentRing(uint32_t bytes, uint32_t alignment) : size_(bytes), alignment_(alignment) {}

  uint32_t size() const { return size_; }

  /// The offset of `bytes` contiguous bytes, to be in use until `submission` retires; nullopt while
  /// there is no room. Tags must not decrease.
  std::optional<uint32_t> allocate(uint32_t bytes, uint64_t submission);

  /// Takes the latest allocate() back: its submission was not made after all.
  void undo() { in_use_.pop_back(); }

  /// All submissions up to and including this one have retired.
  void retire(uint64_t submission);

  bool empty() const { return in_use_.empty(); }

 private:
  struct Block {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint64_t submission = 0;
  };

  uint32_t size_ = 0;
  uint32_t alignment_ = 1;
  std::deque<Block> in_use_;  // oldest first
};

}  // namespace doppel::kfd
