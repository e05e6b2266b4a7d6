#include "emulator/scheduler.h"

#include <algorithm>

#include "core/assert.h"

namespace doppel::emu {

void Scheduler::add(Block& block) {
  DOPPEL_ASSERT(std::ranges::find(blocks_, &block) == blocks_.end(), "A block is scheduled once.");
  blocks_.push_back(&block);
}

void Scheduler::remove(Block& block) {
  std::erase(blocks_, &block);
}

bool Scheduler::step(bool host_ready) {
  DOPPEL_ASSERT(!stepping_, "A block must not step the simulator it is stepped by.");
  if (host_ready && !schedule_.delays_host()) return false;
  runnable_.clear();
  for (Block* block : blocks_) {
    if (block->runnable()) runnable_.push_back(block);
  }
  if (host_ready) runnable_.push_back(nullptr);
  if (runnable_.empty()) return false;
  Block* chosen = runnable_[schedule_.choose(runnable_)];
  if (chosen == nullptr) return false;
  stepping_ = true;
  const uint64_t ns = chosen->step();
  stepping_ = false;
  clock_.advance_ns(ns);
  ++steps_;
  return true;
}

}  // namespace doppel::emu
