#include "backends/mock/stepping_progress.h"

namespace doppel::mock {
namespace {

// Between slices other threads may have the lock.
constexpr int kStepsPerSlice = 64;

}  // namespace

WaitOutcome SteppingProgress::wait(uint64_t deadline_ns, const std::function<bool()>& changed) {
  while (true) {
    for (int i = 0; i < kStepsPerSlice; ++i) {
      if (changed()) {
        if (simulator_.step_before_host()) continue;
        return WaitOutcome::LookAgain;
      }
      const uint64_t now = now_ns();
      if (now >= deadline_ns) return WaitOutcome::DeadlinePassed;
      if (simulator_.step()) continue;
      if (changed()) return WaitOutcome::LookAgain;
      if (deadline_ns == kForever) return WaitOutcome::Deadlock;
      simulator_.clock().advance_ns(deadline_ns - now);
      return WaitOutcome::DeadlinePassed;
    }
    lock().unlock();
    lock().lock();
  }
}

}  // namespace doppel::mock
