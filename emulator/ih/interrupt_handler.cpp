#include "emulator/ih/interrupt_handler.h"

#include <fmt/format.h>

#include "emulator/gpu.h"

namespace doppel::emu {
namespace {

constexpr uint64_t kDeliveryNs = 500;

}  // namespace

std::string InterruptHandler::name() const {
  return fmt::format("ih (gpu {})", gpu_);
}

uint64_t InterruptHandler::step() {
  const Interrupt interrupt = pending_.front();
  pending_.pop_front();
  if (interrupt.sink) interrupt.sink->on_interrupt(interrupt.queue, interrupt.context_id);
  return kDeliveryNs;
}

}  // namespace doppel::emu
