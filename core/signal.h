// Signal: a 64-bit value in memory that queues, engines and the host write and wait for, with two
// timestamps beside it (the HSA amd_signal_t). A signal with a mailbox also wakes sleeping hosts
// through a driver event.
//
// Ordering: a store by the device releases the work before it (as the recorded command says);
// value() acquires. Safe to use from several threads; moving the handle is not.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/abi/amd_signal.h"
#include "core/status.h"

namespace doppel {

namespace verify {
class HostObserver;
}

/// How a wait compares the signal's value with the wanted one. Device-side waits compare the low
/// 32 bits unsigned (PM4 WAIT_REG_MEM, SDMA POLL_REGMEM); host waits the whole value, signed.
enum class SignalCondition : uint8_t { GreaterEqual, Equal, NotEqual, Less };
std::string_view to_string(SignalCondition condition);  // ">="
bool holds(SignalCondition condition, int64_t value, int64_t wanted);

/// Where a command finds a signal: GPU addresses of its parts.
struct SignalRef {
  uint64_t address = 0;          // of the amd_signal_t
  uint64_t mailbox_address = 0;  // 0: no interrupt
  uint32_t event_id = 0;

  uint64_t value_address() const { return address + offsetof(abi::AmdSignal, value); }
  uint64_t start_ts_address() const { return address + offsetof(abi::AmdSignal, start_ts); }
  uint64_t end_ts_address() const { return address + offsetof(abi::AmdSignal, end_ts); }
};

struct SignalOptions {
  int64_t initial = 0;
  bool interrupt = true;  // give it a mailbox, so that host waits may sleep
};

struct WaitOptions {
  SignalCondition condition = SignalCondition::GreaterEqual;
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of the device's clock
};

/// A backend's signal. The destructor returns it to its pool.
class SignalState {
 public:
  virtual ~SignalState() = default;
  SignalState(const SignalState&) = delete;
  SignalState& operator=(const SignalState&) = delete;

  virtual Result<> wait(int64_t wanted, const WaitOptions& options) = 0;

  abi::AmdSignal* memory = nullptr;  // CPU address
  SignalRef ref;
  verify::HostObserver* observer = nullptr;  // outlives the signal

 protected:
  SignalState() = default;
};

class Signal {
 public:
  Signal() = default;
  explicit Signal(std::unique_ptr<SignalState> state) : state_(std::move(state)) {}

  explicit operator bool() const { return state_ != nullptr; }

  int64_t value() const;
  void set(int64_t value);

  /// Returns once the value satisfies the condition. Timeout and Deadlock name the signal, the
  /// wanted and the actual value; Deadlock is said of an emulated device alone, at once in a
  /// program with one thread, and when the time is up if other threads could still act; DeviceFault
  /// carries the driver's report if a queue has stopped.
  Result<> wait(int64_t wanted, const WaitOptions& options = {}) const;

  /// GPU counter ticks that timestamp commands stored; convert with Device::clock_fit().
  uint64_t start_ticks() const;
  uint64_t end_ticks() const;

  const SignalRef& ref() const;

 private:
  std::unique_ptr<SignalState> state_;
};

}  // namespace doppel
