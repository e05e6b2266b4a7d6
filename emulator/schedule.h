// Schedule: decides which of the blocks that can step steps next. A run is repeated by repeating
// its decisions: same decisions and same host actions, same order, same clock, same memory.
//
// Called on the thread that steps the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/prng.h"

namespace doppel::verify {
class Checker;
}

namespace doppel::emu {

class Block;

class Schedule {
 public:
  virtual ~Schedule() = default;

  /// The index of what goes on next. `runnable` has at least one element, in the order in which
  /// the blocks came to be; nullptr, the last if any, is the host, whose wait has ended.
  virtual size_t choose(std::span<Block* const> runnable) = 0;

  /// Whether the host may be slow to go on once its wait has ended. If not, it goes on at once and
  /// is never among the choices.
  virtual bool delays_host() const { return false; }

  /// Who wants to be told what each step does, or nullptr. Only of a machine that is verified.
  virtual verify::Checker* checker() { return nullptr; }
};

/// Every runnable block is as likely as any other, so each interleaving has a chance, and none
/// starves.
class RandomSchedule final : public Schedule {
 public:
  explicit RandomSchedule(uint64_t seed) : prng_(seed) {}
  size_t choose(std::span<Block* const> runnable) override {
    return runnable.size() == 1 ? 0 : prng_.below(runnable.size());
  }

 private:
  Prng prng_;
};

}  // namespace doppel::emu
