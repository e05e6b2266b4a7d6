// InterruptLine: one queue's wire to the interrupt handler.
#pragma once

#include <cstdint>

#include "emulator/ih/interrupt_handler.h"

namespace doppel::emu {

class InterruptLine {
 public:
  InterruptLine(InterruptHandler& handler, InterruptSink* sink, uint32_t queue)
      : handler_(&handler), sink_(sink), queue_(queue) {}

  /// `context_id`: the KFD event id that the packet names.
  void raise(uint32_t context_id) { handler_->raise(sink_, queue_, context_id); }

 private:
  InterruptHandler* handler_;
  InterruptSink* sink_;
  uint32_t queue_;
};

}  // namespace doppel::emu
