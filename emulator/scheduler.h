// Scheduler: steps blocks in the order that a Schedule decides, and keeps the virtual clock.
//
// Neither blocks nor the schedule are owned. Blocks may be added and removed while a block steps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "emulator/block.h"
#include "emulator/schedule.h"

namespace doppel::emu {

class Scheduler {
 public:
  /// `schedule` outlives the scheduler.
  explicit Scheduler(Schedule& schedule) : schedule_(schedule) {}

  void add(Block& block);
  void remove(Block& block);

  /// Steps one runnable block and advances the clock by its work. False: none is runnable, or, if
  /// the host can go on (`host_ready`), it is the host's turn.
  bool step(bool host_ready = false);

  bool stepping() const { return stepping_; }
  uint64_t steps() const { return steps_; }
  const std::vector<Block*>& blocks() const { return blocks_; }
  VirtualClock& clock() { return clock_; }

 private:
  Schedule& schedule_;
  VirtualClock clock_;
  std::vector<Block*> blocks_;    // in the order of add(), never by address
  std::vector<Block*> runnable_;  // scratch of step(), kept for its capacity
  uint64_t steps_ = 0;
  bool stepping_ = false;
};

}  // namespace doppel::emu
