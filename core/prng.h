// Prng: the seeded generator behind every random choice (scheduling, fault plans, test data), so
// that a printed seed replays the run. SplitMix64: Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators" (OOPSLA 2014). Value type; not thread-safe.
#pragma once

#include <cstdint>

namespace doppel {

class Prng {
 public:
  explicit constexpr Prng(uint64_t seed) : state_(seed) {}

  constexpr uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// A value in [0, bound); bound must not be 0.
  constexpr uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace doppel
