// EngineProgress: an engine thread steps the simulator beside the clients, on the machine's time.
// Used where the client is somebody else's program (preload shim), which rings doorbells with plain
// stores: the thread notices them by polling, closely while there is work, ever more rarely when
// there is none, and not at all before the first queue exists.
//
// The thread blocks all signals, as they are the client's, but for the two that its own accesses
// may raise (a MemoryGuard handles those). It is never joined: a client may exit with live queues,
// and the thread ends with the process.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>

#include "backends/mock/progress.h"
#include "emulator/simulator.h"

namespace doppel::mock {

class EngineProgress final : public Progress {
 public:
  /// `after_slice` runs on the engine thread, with the lock held, after each look at the queues.
  EngineProgress(emu::Simulator& simulator, std::function<void()> after_slice);

  /// Starts the thread; only once.
  void start();
  /// What the engine's threads block.
  static sigset_t signal_mask();

  uint64_t now_ns() override;
  WaitOutcome wait(uint64_t deadline_ns, const std::function<bool()>& changed) override;
  void notify() override;
  void hardware_changed() override;

 private:
  void run();
  /// Steps for a while; whether anything ran. Lock held.
  bool run_slice();
  void sleep_until_needed(uint64_t idle_ns);

  emu::Simulator& simulator_;
  std::function<void()> after_slice_;
  std::condition_variable_any events_;  // with lock()
  std::atomic<uint32_t> hardware_generation_ = 0;
  std::atomic<uint32_t> wake_ = 0;  // futex word of an engine that sleeps without polling
};

}  // namespace doppel::mock
