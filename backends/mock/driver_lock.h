// DriverLock: the one lock of the driver model, fair: first come, first served. The engine thread
// takes it again as soon as it lets go, and clients' calls must still get their turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace doppel::mock {

class DriverLock {
 public:
  void lock() {
    std::unique_lock hold(mutex_);
    const uint64_t ticket = next_++;
    turn_.wait(hold, [&] { return serving_ == ticket; });
  }
  void unlock() {
    std::lock_guard hold(mutex_);
    ++serving_;
    if (serving_ != next_) turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  uint64_t next_ = 0;
  uint64_t serving_ = 0;
};

}  // namespace doppel::mock
