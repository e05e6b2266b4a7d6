#include "emulator/verify/epoch.h"

#include <iterator>

namespace doppel::verify {

Clock::Time& Clock::time(ActorId actor) {
  if (actor >= times_.size()) times_.resize(actor + 1);
  return times_[actor];
}

/// Moves what has become contiguous from `beyond` to `pipe`.
void Clock::settle(Time& time) {
  auto next = time.beyond.begin();
  while (next != time.beyond.end() && *next <= time.pipe + 1) {
    time.pipe = std::max(time.pipe, *next);
    ++next;
  }
  time.beyond.erase(time.beyond.begin(), next);
}

bool Clock::covers(const Clock& other) const {
  for (ActorId actor = 0; actor < other.times_.size(); ++actor) {
    const Time& theirs = other.times_[actor];
    if (!covers({actor, Line::Front, theirs.front})) return false;
    const uint64_t pipe = actor < times_.size() ? times_[actor].pipe : 0;
    if (theirs.pipe > pipe) return false;
    for (uint64_t number : theirs.beyond) {
      if (!covers({actor, Line::Pipe, number})) return false;
    }
  }
  return true;
}

void Clock::add(const Epoch& epoch) {
  if (epoch.line == Line::Front) return add_all(epoch);
  Time& mine = time(epoch.actor);
  if (epoch.number <= mine.pipe) return;
  const auto at = std::ranges::lower_bound(mine.beyond, epoch.number);
  if (at == mine.beyond.end() || *at != epoch.number) mine.beyond.insert(at, epoch.number);
  settle(mine);
}

void Clock::add_all(const Epoch& epoch) {
  Time& mine = time(epoch.actor);
  uint64_t& line = epoch.line == Line::Front ? mine.front : mine.pipe;
  line = std::max(line, epoch.number);
  settle(mine);
}

void Clock::join(const Clock& other) {
  if (other.times_.size() > times_.size()) times_.resize(other.times_.size());
  for (ActorId actor = 0; actor < other.times_.size(); ++actor) {
    const Time& theirs = other.times_[actor];
    Time& mine = times_[actor];
    mine.front = std::max(mine.front, theirs.front);
    mine.pipe = std::max(mine.pipe, theirs.pipe);
    if (!theirs.beyond.empty()) {
      std::vector<uint64_t> both;
      std::ranges::set_union(mine.beyond, theirs.beyond, std::back_inserter(both));
      mine.beyond = std::move(both);
    }
    settle(mine);
  }
}

}  // namespace doppel::verify
