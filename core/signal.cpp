#include "core/signal.h"

#include <atomic>

#include "core/verify/host_observer.h"

namespace doppel {
namespace {
constexpr SignalRef kNoSignal{};

void note_ticks(const SignalState& signal, uint64_t address) {
  if (!signal.observer) return;
  signal.observer->on_host_access(address, sizeof(uint64_t), MemoryAccess::Read,
                                  "Signal timestamp");
}
}  // namespace

std::string_view to_string(SignalCondition condition) {
  switch (condition) {
    case SignalCondition::GreaterEqual:
      return ">=";
    case SignalCondition::Equal:
      return "==";
    case SignalCondition::NotEqual:
      return "!=";
    case SignalCondition::Less:
      return "<";
  }
  return "?";
}

bool holds(SignalCondition condition, int64_t value, int64_t wanted) {
  switch (condition) {
    case SignalCondition::GreaterEqual:
      return value >= wanted;
    case SignalCondition::Equal:
      return value == wanted;
    case SignalCondition::NotEqual:
      return value != wanted;
    case SignalCondition::Less:
      return value < wanted;
  }
  return false;
}

int64_t Signal::value() const {
  if (!state_) return 0;
  const int64_t value = std::atomic_ref(state_->memory->value).load(std::memory_order_acquire);
  if (state_->observer) state_->observer->on_host_load(state_->ref.value_address());
  return value;
}

void Signal::set(int64_t value) {
  if (!state_) return;
  if (state_->observer) {
    state_->observer->on_host_store(state_->ref.value_address(), value, "Signal::set");
  }
  std::atomic_ref(state_->memory->value).store(value, std::memory_order_release);
}

Result<> Signal::wait(int64_t wanted, const WaitOptions& options) const {
  if (!state_) return error(StatusCode::InvalidArgument, "The signal is empty.");
  return state_->wait(wanted, options);
}

uint64_t Signal::start_ticks() const {
  if (!state_) return 0;
  note_ticks(*state_, state_->ref.start_ts_address());
  return std::atomic_ref(state_->memory->start_ts).load(std::memory_order_acquire);
}

uint64_t Signal::end_ticks() const {
  if (!state_) return 0;
  note_ticks(*state_, state_->ref.end_ts_address());
  return std::atomic_ref(state_->memory->end_ts).load(std::memory_order_acquire);
}

const SignalRef& Signal::ref() const {
  return state_ ? state_->ref : kNoSignal;
}

}  // namespace doppel
