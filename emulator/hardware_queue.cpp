#include "emulator/hardware_queue.h"

#include <fmt/format.h>

#include "emulator/cp/command_processor.h"
#include "emulator/sdma/sdma_engine.h"
#include "emulator/verify/observer.h"

namespace doppel::emu {

std::string describe_queue(const QueueConfig& config, uint32_t gpu) {
  std::string_view kind = "sdma";
  if (config.kind == QueueKind::Pm4) kind = "pm4";
  if (config.kind == QueueKind::Aql) kind = "aql";
  return fmt::format("queue {} ({}, gpu {})", config.id, kind, gpu);
}

QueueRef HardwareQueue::ref() const {
  return {gpu_.index, gpu_.config, config_, name_};
}

void HardwareQueue::fail(Fault fault) {
  faulted_ = true;
  ++gpu_.counters.faults;
  fault.gpu = gpu_.index;
  fault.queue = config_.id;
  if (gpu_.observer) gpu_.observer->on_fault(ref(), fault);
  if (sink_) sink_->on_fault(fault);
}

std::unique_ptr<HardwareQueue> make_hardware_queue(GpuContext& gpu, const QueueConfig& config,
                                                   InterruptSink* sink) {
  if (config.kind == QueueKind::Sdma) return std::make_unique<SdmaEngine>(gpu, config, sink);
  return std::make_unique<CommandProcessor>(gpu, config, sink);
}

}  // namespace doppel::emu
