// Checker: an observer of the machine and of its host that knows some rules. What it finds goes to
// the FindingLog that it was made with.
//
// Not thread-safe: one call at a time, whoever steps the simulator.
#pragma once

#include <span>

#include "core/verify/host_observer.h"
#include "emulator/stall_report.h"
#include "emulator/verify/observer.h"

namespace doppel::verify {

class Checker : public emu::Observer, public HostObserver {
 public:
  /// As on_dispatch, which it follows: the log that the dispatch's waves record into, nullptr if
  /// there is none. It lives until on_completion has returned.
  virtual void on_access_log(const emu::QueueRef&, uint64_t /*tag*/, const emu::AccessLog*) {}
  /// Nothing can run. `host`: what the host waits for, or nullptr if it may still act.
  virtual void on_stall(std::span<const emu::Stall>, const HostWait* /*host*/) {}
};

}  // namespace doppel::verify
