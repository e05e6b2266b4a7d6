#include "backends/kfd/kfd_wait.h"

#include <algorithm>
#include <limits>
#include <thread>

#include <fmt/format.h>

namespace doppel::kfd {
namespace {

constexpr uint64_t kSpinNs = 200'000;  // before the first sleep
constexpr uint64_t kSliceMs = 100;     // of one sleep: bounds a lost interrupt's cost
// After a fault healthy queues may still deliver the value: so long the wait goes on that sees the
// fault, and so long each later one.
constexpr uint64_t kFaultGraceNs = 1'000'000'000;
constexpr uint64_t kLaterFaultGraceNs = 100'000'000;

uint64_t saturating_add(uint64_t left, uint64_t right) {
  return left > std::numeric_limits<uint64_t>::max() - right ? std::numeric_limits<uint64_t>::max()
                                                             : left + right;
}

/// How long a device on which nothing runs is looked at again, because other threads of the program
/// may submit work or set signals: as long as the wait may last, on the machine's clock, as virtual
/// time stands still.
class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds limit) : limit_(limit) {}

  /// True after a moment, if there are such threads and the time is not up.
  bool may_act(KernelAbi& kernel) {
    if (!kernel.others_may_act()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (stalled_since_ == decltype(stalled_since_){}) stalled_since_ = now;
    if (now - stalled_since_ >= limit_) return false;
    std::this_thread::sleep_for(kMoment);
    return true;
  }

 private:
  static constexpr auto kMoment = std::chrono::microseconds(200);
  const std::chrono::nanoseconds limit_;
  std::chrono::steady_clock::time_point stalled_since_;  // epoch: not yet
};

}  // namespace

void Waiter::add_service(HostService* service) {
  const std::scoped_lock lock(mutex_);
  services_.push_back(service);
}

void Waiter::remove_service(HostService* service) {
  const std::scoped_lock lock(mutex_);
  std::erase(services_, service);
}

Result<> Waiter::serve() {
  const std::scoped_lock lock(mutex_);
  for (HostService* service : services_) DOPPEL_TRY(service->serve());
  return {};
}

Result<std::string> Waiter::fault_text() {
  DOPPEL_TRY(events_.wait(0, abi::kTimeoutImmediate));
  std::string text;
  for (const ExceptionReport& report : events_.exceptions()) text += report.message + '\n';
  if (!text.empty()) text += driver_->kernel().fault_report();
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<> Waiter::failure(StatusCode code, const std::string& what, const std::string& detail) {
  return error(code, detail.empty() ? what : fmt::format("{}\n{}", what, detail));
}

Result<> Waiter::wait(const std::function<bool()>& ready,
                      const std::function<std::string()>& describe, uint32_t event_id,
                      std::chrono::nanoseconds timeout) {
  KernelAbi& kernel = driver_->kernel();
  const auto ended = [&] {
    while (ready()) {
      if (kernel.host_goes_on()) return true;
    }
    return false;
  };
  if (ended()) return {};
  const uint64_t start = kernel.now_ns();
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(timeout.count(), 0));
  bool faulted = !events_.exceptions().empty();
  uint64_t deadline = saturating_add(start, faulted ? std::min(limit, kLaterFaultGraceNs) : limit);
  const uint64_t spin_end = saturating_add(start, kSpinNs);
  Patience others(std::chrono::nanoseconds{static_cast<int64_t>(limit)});
  while (true) {
    DOPPEL_TRY(serve());
    const Relax relax = kernel.relax();
    if (ended()) return {};
    if (relax == Relax::Stalled) {
      DOPPEL_TRY(serve());
      if (ended()) return {};
      if (kernel.relax() == Relax::Again) continue;  // a service has set the device going again
      if (others.may_act(kernel)) continue;
      DOPPEL_ASSIGN(const std::string faults, fault_text());
      if (ended()) return {};
      if (!faults.empty()) {
        return failure(StatusCode::DeviceFault, fmt::format("The wait for {} fails.", describe()),
                       faults);
      }
      return failure(StatusCode::Deadlock,
                     fmt::format("The wait for {} never ends: nothing runs any more.", describe()),
                     kernel.stall_report());
    }
    const uint64_t now = kernel.now_ns();
    if (now >= deadline) break;
    if (now < spin_end) continue;
    const uint64_t rest_ms = (deadline - now + 999'999) / 1'000'000;
    DOPPEL_TRY(events_.wait(event_id, static_cast<uint32_t>(std::min(kSliceMs, rest_ms))));
    if (ended()) return {};
    if (!faulted && !events_.exceptions().empty()) {
      faulted = true;
      deadline = std::min(deadline, saturating_add(kernel.now_ns(), kFaultGraceNs));
    }
  }
  DOPPEL_ASSIGN(const std::string faults, fault_text());
  if (ended()) return {};  // it may have come at the last moment
  if (!faults.empty()) {
    return failure(StatusCode::DeviceFault, fmt::format("The wait for {} fails.", describe()),
                   faults);
  }
  return failure(
      StatusCode::Timeout,
      fmt::format("The wait for {} timed out after {} ms.", describe(), limit / 1'000'000),
      kernel.stall_report());
}

}  // namespace doppel::kfd
