// PctSchedule: probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A
// randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010). Each block has
// a random priority, and the most important one that can step does; at depth - 1 random steps the
// one that would step becomes the least important. A bug that needs `depth` ordering constraints is
// found with a probability of at least 1 / (blocks * length^(depth - 1)) a run.
//
// After `length` steps every runnable block is as likely as any other, so that none starves.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/prng.h"
#include "emulator/schedule.h"

namespace doppel::emu {

class PctSchedule final : public Schedule {
 public:
  static constexpr uint64_t kLength = 1000;  // steps

  PctSchedule(uint64_t seed, uint32_t depth, uint64_t length = kLength);

  size_t choose(std::span<Block* const> runnable) override;

 private:
  uint64_t& priority(const Block* block);

  Prng prng_;
  const uint64_t length_;
  uint64_t steps_ = 0;
  uint64_t lowest_;                              // priorities below those of new blocks, unused yet
  std::set<uint64_t> changes_;                   // steps
  std::map<const Block*, uint64_t> priorities_;  // looked up, never walked
};

}  // namespace doppel::emu
