// Waiter: how a host thread waits for the device: it spins through the kernel's relax(), then
// sleeps in WAIT_EVENTS, and ends with a value, a fault, a deadlock report or a timeout.
//
// While waiting it lets registered services run: queues whose firmware asks the host for something
// (scratch memory). Safe to use from several threads. In the simulation a device on which nothing
// runs is a deadlock at once if the program has no other thread, and when the wait's time is up if
// it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/kfd/kfd_event.h"
#include "core/status.h"

namespace doppel::kfd {

/// A queue's host side duty; see Waiter.
class HostService {
 public:
  virtual ~HostService() = default;
  /// Does what the device asks for, if anything. An error ends every wait.
  virtual Result<> serve() = 0;
};

class Waiter {
 public:
  Waiter(std::shared_ptr<KfdDriver> driver, KfdEvents& events)
      : driver_(std::move(driver)), events_(events) {}

  /// Returns once `ready()`. `describe()` completes "The wait for ..." with what was wanted and
  /// what is there; `event_id` 0 if nothing interrupts. Timeout is of the kernel's clock.
  Result<> wait(const std::function<bool()>& ready, const std::function<std::string()>& describe,
                uint32_t event_id, std::chrono::nanoseconds timeout);

  void add_service(HostService* service);
  void remove_service(HostService* service);

 private:
  Result<> serve();
  /// Collects exceptions without sleeping; the report of all of them, or "".
  Result<std::string> fault_text();
  Result<> failure(StatusCode code, const std::string& what, const std::string& detail);

  std::shared_ptr<KfdDriver> driver_;
  KfdEvents& events_;
  std::mutex mutex_;
  std::vector<HostService*> services_;
};

}  // namespace doppel::kfd
