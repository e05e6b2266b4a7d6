// The Dispatcher of a build without the wave interpreter: refuses every dispatch by name.
#include "emulator/dispatch/dispatcher.h"

namespace doppel::emu {

struct Dispatcher::Impl {
  Fault fault;
};

Dispatcher::Dispatcher(const Clock&, DispatcherOptions) : impl_(std::make_unique<Impl>()) {}
Dispatcher::~Dispatcher() = default;

std::expected<void, Fault> Dispatcher::start(const Dispatch&) {
  Fault fault;
  fault.kind = FaultKind::UnsupportedInstruction;
  fault.message = "This build has no wave interpreter, so it executes no kernels.";
  return std::unexpected(fault);
}

DispatchState Dispatcher::step(uint64_t) {
  return DispatchState::Idle;
}
DispatchState Dispatcher::state() const {
  return DispatchState::Idle;
}
const Fault& Dispatcher::fault() const {
  return impl_->fault;
}
DispatchCounters Dispatcher::counters() const {
  return {};
}
DispatchCounters Dispatcher::total_counters() const {
  return {};
}
void Dispatcher::abandon() {}

}  // namespace doppel::emu
