#include "backends/mock/recorded_schedule.h"

#include <algorithm>
#include <vector>

#include "emulator/block.h"

namespace doppel::mock {

std::string name_of(const emu::Block* block) {
  return block ? block->name() : "host";
}

size_t RecordedSchedule::choose(std::span<emu::Block* const> runnable) {
  std::vector<std::string> names;
  for (const emu::Block* block : runnable) names.push_back(name_of(block));
  auto chosen = names.end();
  while (turn_ < record_.turns.size() && chosen == names.end()) {
    const Turn& turn = record_.turns[turn_];
    if (steps_ < turn.steps) {
      chosen = std::ranges::find(names, turn.who);
      diverged_ |= chosen == names.end();
      ++steps_;
    }
    if (chosen == names.end() || steps_ == turn.steps) {
      ++turn_;
      steps_ = 0;
    }
  }
  if (chosen == names.end() && !went_.turns.empty()) {
    chosen = std::ranges::find(names, went_.turns.back().who);
  }
  if (chosen == names.end()) chosen = names.begin();
  went_.add(*chosen);
  return static_cast<size_t>(chosen - names.begin());
}

}  // namespace doppel::mock
