// InterruptHandler: the GPU's IH. Collects the interrupts that queues raise and hands them to the
// driver model in order, each in a step of its own: a waiter may see a fence before, or after, its
// interrupt, as on hardware.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "emulator/block.h"

namespace doppel::emu {

class InterruptSink;

class InterruptHandler final : public Block {
 public:
  explicit InterruptHandler(uint32_t gpu) : gpu_(gpu) {}

  void raise(InterruptSink* sink, uint32_t queue, uint32_t context_id) {
    pending_.push_back({sink, queue, context_id});
  }

  std::string name() const override;
  bool runnable() override { return !pending_.empty(); }
  uint64_t step() override;
  bool idle() override { return pending_.empty(); }

 private:
  struct Interrupt {
    InterruptSink* sink;
    uint32_t queue;
    uint32_t context_id;
  };

  const uint32_t gpu_;
  std::deque<Interrupt> pending_;
};

}  // namespace doppel::emu
