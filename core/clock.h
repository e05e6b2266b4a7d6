// Clock: the only source of time. The emulator's is virtual (it advances with simulated work); the
// real driver's is CLOCK_MONOTONIC. Nothing else in the tree reads a clock.
#pragma once

#include <cstdint>

namespace doppel {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since an arbitrary start; never goes back.
  virtual uint64_t now_ns() const = 0;
};

/// A clock that moves only when told. Not thread-safe.
class VirtualClock final : public Clock {
 public:
  uint64_t now_ns() const override { return now_ns_; }
  void advance_ns(uint64_t delta) { now_ns_ += delta; }

 private:
  uint64_t now_ns_ = 0;
};

/// The GPU's constant-rate counter (S_MEMREALTIME, RELEASE_MEM timestamps, SDMA TIMESTAMP and AQL
/// start_ts/end_ts) runs at 100 MHz on all supported families.
inline constexpr uint64_t kGpuCounterHz = 100'000'000;
inline constexpr uint64_t gpu_ticks(uint64_t ns) {
  return ns / (1'000'000'000 / kGpuCounterHz);
}

}  // namespace doppel
