// SteppingProgress: the thread that waits steps the simulator, on virtual time. When nothing can
// run any more, time jumps to the wait's deadline; a wait without one is a deadlock.
#pragma once

#include "backends/mock/progress.h"
#include "emulator/simulator.h"

namespace doppel::mock {

class SteppingProgress final : public Progress {
 public:
  explicit SteppingProgress(emu::Simulator& simulator) : simulator_(simulator) {}

  uint64_t now_ns() override { return simulator_.clock().now_ns(); }
  WaitOutcome wait(uint64_t deadline_ns, const std::function<bool()>& changed) override;
  void notify() override {}

 private:
  emu::Simulator& simulator_;
};

}  // namespace doppel::mock
