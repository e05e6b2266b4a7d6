#include "emulator/pct_schedule.h"

#include <algorithm>

namespace doppel::emu {
namespace {

constexpr uint64_t kInitial = uint64_t{1} << 32;  // priorities of new blocks, from here on

}  // namespace

PctSchedule::PctSchedule(uint64_t seed, uint32_t depth, uint64_t length)
    : prng_(seed), length_(length), lowest_(kInitial) {
  for (uint32_t change = 1; change < depth; ++change) changes_.insert(prng_.below(length));
}

uint64_t& PctSchedule::priority(const Block* block) {
  const auto [at, is_new] = priorities_.try_emplace(block, 0);
  if (is_new) at->second = kInitial + prng_.below(kInitial);
  return at->second;
}

size_t PctSchedule::choose(std::span<Block* const> runnable) {
  const uint64_t step = steps_++;
  if (step >= length_) return prng_.below(runnable.size());
  const auto most_important = [&] {
    return std::ranges::max_element(runnable, {}, [&](Block* block) { return priority(block); });
  };
  if (changes_.contains(step)) priority(*most_important()) = --lowest_;
  return static_cast<size_t>(most_important() - runnable.begin());
}

}  // namespace doppel::emu
