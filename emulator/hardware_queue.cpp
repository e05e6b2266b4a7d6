#include "emulator/hardware_queue.h"

#include <fmt/format.h>

#include "emulator/cp/command_processor.h"
#include "emulator/sdma/sdma_engine.h"

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

std::unique_ptr<HardwareQueue> make_hardware_queue(GpuContext& gpu, const QueueConfig& config,
                                                   InterruptSink* sink) {
  if (config.kind == QueueKind::Sdma) return std::make_unique<SdmaEngine>(gpu, config, sink);
  return std::make_unique<CommandProcessor>(gpu, config, sink);
}

}  // namespace doppel::emu
