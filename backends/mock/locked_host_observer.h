// LockedHostObserver: lets client threads tell a Verifier what they do: each call holds the
// driver's lock, as everything does that concerns the simulator.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "backends/mock/progress.h"
#include "emulator/verify/verifier.h"

namespace doppel::mock {

class LockedHostObserver final : public verify::HostObserver {
 public:
  /// Both outlive the observer.
  LockedHostObserver(Progress& progress, verify::Verifier& verifier)
      : progress_(progress), verifier_(verifier) {}

  void on_host_access(uint64_t va, uint64_t bytes, MemoryAccess access,
                      std::string_view call) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_host_access(va, bytes, access, call);
  }
  void on_host_store(uint64_t va, int64_t value, std::string_view call) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_host_store(va, value, call);
  }
  void on_signal_created(uint64_t va, int64_t value) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_signal_created(va, value);
  }
  void on_signal_destroyed(uint64_t va) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_signal_destroyed(va);
  }
  void on_host_load(uint64_t va) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_host_load(va);
  }
  void on_host_wait(const verify::HostWait& wait) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_host_wait(wait);
  }
  void on_host_deadlock(const verify::HostWait& wait) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_host_deadlock(wait);
  }
  void on_buffer_name(uint64_t va, std::string name) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_buffer_name(va, std::move(name));
  }
  void on_kernel_name(uint64_t entry, uint64_t bytes, std::string name) override {
    const std::lock_guard hold(progress_.lock());
    verifier_.on_kernel_name(entry, bytes, std::move(name));
  }

 private:
  Progress& progress_;
  verify::Verifier& verifier_;
};

}  // namespace doppel::mock
