// HostObserver: what the runtime tells a checker about the host: the bytes of device memory that it
// reads and writes, the signals that it stores, reads and waits for, and what things are called. A
// device without verification has none, and tells nobody.
//
// Stores through the pointers that Allocation::host() gives are unseen: no call is made.
// Implementations are safe to call from several threads; all of them count as one host.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/memory.h"
#include "core/signal.h"

namespace doppel::verify {

/// A wait with this timeout, or a longer one, is one that the program needs to end.
inline constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds(1);

/// A wait of the host for a signal.
struct HostWait {
  uint64_t address = 0;  // GPU address of the signal's value
  SignalCondition condition = SignalCondition::GreaterEqual;
  int64_t wanted = 0;
};

class HostObserver {
 public:
  virtual ~HostObserver() = default;

  /// The host reads or writes [va, va + bytes) in `call` ("Device::write").
  virtual void on_host_access(uint64_t /*va*/, uint64_t /*bytes*/, MemoryAccess,
                              std::string_view /*call*/) {}
  /// The host is about to store `value` to the signal value at `va`.
  virtual void on_host_store(uint64_t /*va*/, int64_t /*value*/, std::string_view /*call*/) {}
  /// A signal begins, with that value: what was there before is none of its concern.
  virtual void on_signal_created(uint64_t /*va*/, int64_t /*value*/) {}
  /// It ends: its place is going to be another signal's.
  virtual void on_signal_destroyed(uint64_t /*va*/) {}
  /// The host has read the signal value at `va`.
  virtual void on_host_load(uint64_t /*va*/) {}
  /// The wait has ended well.
  virtual void on_host_wait(const HostWait&) {}
  /// Nothing runs any more, and the host still waits. Not told of waits that it has bounded by less
  /// than kPatience: it looks, and goes on.
  virtual void on_host_deadlock(const HostWait&) {}

  /// What reports call the buffer that holds `va`.
  virtual void on_buffer_name(uint64_t /*va*/, std::string /*name*/) {}
  /// A kernel's code; its name and `bytes` (0: unknown) from the entry on.
  virtual void on_kernel_name(uint64_t /*entry*/, uint64_t /*bytes*/, std::string /*name*/) {}
};

}  // namespace doppel::verify
