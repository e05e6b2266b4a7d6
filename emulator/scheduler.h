// Scheduler: draws, with a seed, which of the runnable blocks steps next. Every runnable block is
// as likely as any other, so each interleaving of queues, engines and dispatches has a chance, and
// none starves. Same seed and same blocks: same order.
//
// Blocks are not owned. They may be added and removed while a block steps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "core/prng.h"
#include "emulator/block.h"

namespace doppel::emu {

class Scheduler {
 public:
  explicit Scheduler(uint64_t seed) : prng_(seed) {}

  void add(Block& block);
  void remove(Block& block);

  /// Steps one runnable block and advances the clock by its work. False: none is runnable.
  bool step();

  bool stepping() const { return stepping_; }
  uint64_t steps() const { return steps_; }
  const std::vector<Block*>& blocks() const { return blocks_; }
  VirtualClock& clock() { return clock_; }

 private:
  Prng prng_;
  VirtualClock clock_;
  std::vector<Block*> blocks_;    // in the order of add(), never by address
  std::vector<Block*> runnable_;  // scratch of step(), kept for its capacity
  uint64_t steps_ = 0;
  bool stepping_ = false;
};

}  // namespace doppel::emu
