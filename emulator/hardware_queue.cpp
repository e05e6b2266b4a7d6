#include "emulator/hardware_queue.h"

#include <fmt/format.h>

#include "emulator/ih/interrupt_handler.h"

namespace doppel::emu {

std::string HardwareQueue::name() const {
  std::string_view kind = "sdma";
  if (config_.kind == QueueKind::Pm4) kind = "pm4";
  if (config_.kind == QueueKind::Aql) kind = "aql";
  return fmt::format("queue {} ({}, gpu {})", config_.id, kind, gpu_.index);
}

void HardwareQueue::fail(Fault fault) {
  faulted_ = true;
  fault.gpu = gpu_.index;
  fault.queue = config_.id;
  if (sink_) sink_->on_fault(fault);
}

void HardwareQueue::raise_interrupt(uint32_t context_id) {
  gpu_.interrupts->raise(sink_, config_.id, context_id);
}

Result<std::unique_ptr<HardwareQueue>> make_hardware_queue(GpuContext&, const QueueConfig& config,
                                                           InterruptSink*) {
  return error(StatusCode::Unsupported,
               fmt::format("This GPU has no front-end for the queue (queue {}).", config.id));
}

}  // namespace doppel::emu
