// Progress: how the emulated hardware moves on, and how a client's thread waits for it. The two
// ways: the waiting thread steps the simulator itself, on virtual time (in process, deterministic);
// or an engine thread steps it beside the clients, on the machine's time (preload shim).
#pragma once

#include <cstdint>
#include <functional>

#include "backends/mock/driver_lock.h"

namespace doppel::mock {

enum class WaitOutcome : uint8_t {
  LookAgain,  // something may have changed
  DeadlinePassed,
  Deadlock,  // nothing can change any more, and no deadline would end the wait
};

/// No deadline.
inline constexpr uint64_t kForever = ~uint64_t{0};

class Progress {
 public:
  virtual ~Progress() = default;

  /// The driver's lock. Guards everything below VirtualKernel.
  DriverLock& lock() const { return lock_; }

  /// Nanoseconds of the clock that waits and GPU timestamps use. Called with the lock held.
  virtual uint64_t now_ns() = 0;

  /// Called with the lock held, which it may release meanwhile. Returns when `changed()` says so,
  /// or the deadline passes, or nothing can happen.
  virtual WaitOutcome wait(uint64_t deadline_ns, const std::function<bool()>& changed) = 0;

  /// Something that a sleeping client waits for has changed. Lock held.
  virtual void notify() = 0;

  /// Queues have come, gone or changed: the hardware has something else to watch. Lock held.
  virtual void hardware_changed() {}

 private:
  mutable DriverLock lock_;
};

}  // namespace doppel::mock
