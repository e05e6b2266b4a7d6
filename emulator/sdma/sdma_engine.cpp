#include "emulator/sdma/sdma_engine.h"

#include "emulator/scheduler.h"

namespace doppel::emu {
namespace {

// An INDIRECT packet lies in the ring, and its buffer is aligned to 32 bytes.
constexpr StreamOptions kSdmaStream{.ib_depth = 1, .ib_alignment = 32};

}  // namespace

SdmaEngine::SdmaEngine(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink)
    : StreamQueue(gpu, config, sink, kSdmaStream),
      sdma_({*gpu.config.target, port_, gpu.scheduler->clock(),
             InterruptLine(*gpu.interrupts, sink, config.id)}) {}

}  // namespace doppel::emu
