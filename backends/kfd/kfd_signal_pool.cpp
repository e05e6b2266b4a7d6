#include "backends/kfd/kfd_signal_pool.h"

#include <atomic>

#include <fmt/format.h>

#include "core/verify/host_observer.h"

namespace doppel::kfd {

class KfdSignal final : public SignalState {
 public:
  KfdSignal(std::shared_ptr<KfdSignalPool> pool, uint32_t index, std::shared_ptr<void> lease)
      : pool_(std::move(pool)), lease_(std::move(lease)), index_(index) {}
  ~KfdSignal() override {
    if (observer) observer->on_signal_destroyed(ref.value_address());
    pool_->recycle(index_);
  }

  Result<> wait(int64_t wanted, const WaitOptions& options) override {
    const auto value = [this] {
      return std::atomic_ref(memory->value).load(std::memory_order_acquire);
    };
    const auto waited = pool_->waiter_->wait(
        [&] { return holds(options.condition, value(), wanted); },
        [&] {
          return fmt::format("signal {} ({:#x}) to become {} {} (it is {})", index_, ref.address,
                             to_string(options.condition), wanted, value());
        },
        ref.event_id, options.timeout);
    if (observer) note(waited, {ref.value_address(), options.condition, wanted}, options.timeout);
    return waited;
  }

 private:
  void note(const Result<>& waited, const verify::HostWait& wait,
            std::chrono::nanoseconds timeout) const {
    if (waited) {
      observer->on_host_wait(wait);
    } else if (waited.error().code() == StatusCode::Deadlock && timeout >= verify::kPatience) {
      observer->on_host_deadlock(wait);
    }
  }

  std::shared_ptr<KfdSignalPool> pool_;
  std::shared_ptr<void> lease_;
  uint32_t index_;
};

Result<> KfdSignalPool::attach(KfdMemory& memory) {
  const std::scoped_lock lock(mutex_);
  if (memory_) {
    return memory.map(static_cast<const KfdAllocation&>(*memory_.state()));
  }
  DOPPEL_ASSIGN(
      memory_,
      memory.allocate(
          kSignals * sizeof(doppel::abi::AmdSignal),
          {.domain = MemoryDomain::Gtt, .cpu_visible = true, .coherent = true, .uncached = true}));
  return {};
}

Result<Signal> KfdSignalPool::create(const SignalOptions& options, std::shared_ptr<void> lease) {
  SignalEvent event;
  if (options.interrupt) {
    DOPPEL_ASSIGN(event, events_->signal_event());
  }
  uint32_t index = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (!recycled_.empty()) {
      index = recycled_.back();
      recycled_.pop_back();
    } else if (fresh_ < kSignals) {
      index = fresh_++;
    } else {
      return error(StatusCode::Exhausted, fmt::format("All signals ({}) are in use.", kSignals));
    }
  }
  auto state = std::make_unique<KfdSignal>(shared_from_this(), index, std::move(lease));
  state->memory = memory_.host_as<doppel::abi::AmdSignal>().data() + index;
  state->ref = {.address = memory_.gpu_address() + index * sizeof(doppel::abi::AmdSignal),
                .mailbox_address = event.mailbox_address,
                .event_id = event.id};
  state->observer = observer_;
  *state->memory = {};
  state->memory->kind = doppel::abi::AMD_SIGNAL_KIND_USER;
  state->memory->event_mailbox_ptr = event.mailbox_address;
  state->memory->event_id = event.id;
  std::atomic_ref(state->memory->value).store(options.initial, std::memory_order_release);
  if (observer_) observer_->on_signal_created(state->ref.value_address(), options.initial);
  return Signal(std::move(state));
}

void KfdSignalPool::recycle(uint32_t index) {
  const std::scoped_lock lock(mutex_);
  recycled_.push_back(index);
}

uint32_t KfdSignalPool::in_use() const {
  const std::scoped_lock lock(mutex_);
  return fresh_ - static_cast<uint32_t>(recycled_.size());
}

}  // namespace doppel::kfd
