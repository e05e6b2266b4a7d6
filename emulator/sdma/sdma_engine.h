// SdmaEngine: the front-end of one SDMA queue. Engines are not units of their own here: the queues
// of an engine are blocks like any others, and big copies go in slices, so that the scheduler
// interleaves what hardware time-slices.
#pragma once

#include "emulator/cp/stream_queue.h"
#include "emulator/sdma/sdma_processor.h"

namespace doppel::emu {

class SdmaEngine final : public StreamQueue {
 public:
  SdmaEngine(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink);

 private:
  packets::Language language() const override { return packets::Language::Sdma; }
  PacketResult execute(const packets::Packet& packet) override { return sdma_.execute(packet); }
  const Wait& wait() const override { return sdma_.wait(); }

  SdmaProcessor sdma_;
};

}  // namespace doppel::emu
