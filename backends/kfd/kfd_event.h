// KfdEvents: the process's driver events: the event page whose slots are signals' mailboxes, a
// small set of interrupt events that signals share, and the two exception events, whose reports it
// keeps.
//
// Sharing is sound: a driver event wakes every thread that waits for it, and each looks at its own
// signal's value. Safe to use from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/kfd/kfd_driver.h"
#include "backends/kfd/kfd_memory.h"
#include "core/status.h"

namespace doppel::kfd {

/// An interrupt event as a signal names it.
struct SignalEvent {
  uint32_t id = 0;
  uint64_t mailbox_address = 0;  // of its slot in the event page, the same for CPU and GPU
};

/// An exception that the driver reported.
struct ExceptionReport {
  uint32_t gpu_id = 0;
  uint64_t address = 0;  // memory exceptions
  std::string message;   // full sentence
};

class KfdEvents {
 public:
  explicit KfdEvents(std::shared_ptr<KfdDriver> driver) : driver_(std::move(driver)) {}
  ~KfdEvents();
  KfdEvents(const KfdEvents&) = delete;
  KfdEvents& operator=(const KfdEvents&) = delete;

  /// Makes the event page accessible to a GPU; the first one also allocates it.
  Result<> attach(KfdMemory& memory);

  /// One of the shared interrupt events, made when first needed.
  Result<SignalEvent> signal_event();

  /// Sleeps until `event_id` (0: none) or an exception event fires, or `timeout_ms` has passed.
  /// True if something fired. Exceptions are added to exceptions().
  Result<bool> wait(uint32_t event_id, uint32_t timeout_ms);

  /// Adds what the runtime itself has seen of an exception.
  void report(ExceptionReport report);

  /// Drops all exceptions, also those that the driver still holds.
  Result<> forget_exceptions();

  /// All exceptions since then, oldest first.
  std::vector<ExceptionReport> exceptions() const;

 private:
  static constexpr size_t kSharedEvents = 16;

  Result<uint32_t> create(uint32_t type, uint32_t* slot);

  std::shared_ptr<KfdDriver> driver_;
  mutable std::mutex mutex_;
  Allocation page_;
  bool page_announced_ = false;
  std::vector<uint32_t> created_;  // ids to destroy
  std::vector<SignalEvent> shared_;
  size_t next_shared_ = 0;
  uint32_t memory_exception_ = 0;
  uint32_t hardware_exception_ = 0;
  std::vector<ExceptionReport> exceptions_;
};

}  // namespace doppel::kfd
