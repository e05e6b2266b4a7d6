#include "backends/explore/reversals.h"

#include <algorithm>
#include <cstdint>

namespace doppel::explorer {
namespace {

using verify::ActorNumber;
using verify::Step;

constexpr int64_t kNever = -1;

/// Happens-before of one run: program order of each actor, who let whom go on, and conflicts.
class Order {
 public:
  explicit Order(std::span<const Step> steps);

  std::vector<Reversal> take() { return std::move(found_); }

 private:
  using Clock = std::vector<int64_t>;  // by actor: its last step that comes before

  bool before(size_t a, const Clock& clock) const {
    return clock[steps_[a].actor] >= static_cast<int64_t>(a);
  }
  static void join(Clock& clock, const Clock& other) {
    std::ranges::transform(clock, other, clock.begin(),
                           [](int64_t a, int64_t b) { return std::max(a, b); });
  }
  static bool is_enabled(const Step& step, ActorNumber actor) {
    return std::ranges::find(step.enabled, actor) != step.enabled.end();
  }

  void add(size_t step);
  void join_enabler(size_t step, int64_t previous, Clock& clock) const;
  void reverse(size_t first, size_t second, const Clock& clock);
  void find_disabled();

  std::span<const Step> steps_;
  Clock last_;  // by actor: its latest step
  std::vector<Clock> clocks_;
  std::vector<Reversal> found_;
};

Order::Order(std::span<const Step> steps) : steps_(steps) {
  ActorNumber actors = 0;
  for (const Step& step : steps) actors = std::max(actors, step.actor + 1);
  last_.assign(actors, kNever);
  for (size_t step = 0; step < steps.size(); ++step) add(step);
  find_disabled();
}

void Order::add(size_t step) {
  const ActorNumber actor = steps_[step].actor;
  const int64_t previous = last_[actor];
  Clock clock =
      previous == kNever ? Clock(last_.size(), kNever) : clocks_[static_cast<size_t>(previous)];
  join_enabler(step, previous, clock);
  for (size_t earlier = step; earlier-- > 0;) {
    if (steps_[earlier].actor == actor || before(earlier, clock)) continue;
    if (!steps_[earlier].touched.conflicts(steps_[step].touched)) continue;
    reverse(earlier, step, clock);
    join(clock, clocks_[earlier]);
  }
  clock[actor] = static_cast<int64_t>(step);
  last_[actor] = static_cast<int64_t>(step);
  clocks_.push_back(std::move(clock));
}

/// The step could not have come before the one that let its actor go on: the last decision at
/// which the actor was not among the choices, and what the host did on its own right after it.
void Order::join_enabler(size_t step, int64_t previous, Clock& clock) const {
  const ActorNumber actor = steps_[step].actor;
  for (auto at = static_cast<int64_t>(step) - 1; at > previous; --at) {
    auto enabler = static_cast<size_t>(at);
    if (steps_[enabler].enabled.empty() || is_enabled(steps_[enabler], actor)) continue;
    do {
      join(clock, clocks_[enabler++]);
    } while (enabler < step && steps_[enabler].enabled.empty());
    return;
  }
}

/// The two conflict, and nothing else orders them: what isn't ordered after `first` could have come
/// before it. `clock` is what comes before `second` but for `first`.
void Order::reverse(size_t first, size_t second, const Clock& clock) {
  if (steps_[first].enabled.size() < 2) return;
  std::vector<size_t> others;  // in (first, second], not ordered after first
  for (size_t step = first + 1; step < second; ++step) {
    if (!before(first, clocks_[step])) others.push_back(step);
  }
  others.push_back(second);
  Reversal reversal{first, {}};
  std::vector<ActorNumber> seen;
  for (size_t index = 0; index < others.size(); ++index) {
    const size_t step = others[index];
    const ActorNumber actor = steps_[step].actor;
    if (std::ranges::find(seen, actor) != seen.end()) continue;
    seen.push_back(actor);
    const Clock& mine = step == second ? clock : clocks_[step];
    const bool initial = std::ranges::none_of(
        std::span(others).first(index), [&](size_t earlier) { return before(earlier, mine); });
    if (initial && is_enabled(steps_[first], actor)) reversal.initials.push_back(actor);
  }
  // The one that races, if it is one of them.
  const auto best = std::ranges::find(reversal.initials, steps_[second].actor);
  if (best != reversal.initials.end()) std::iter_swap(reversal.initials.begin(), best);
  if (!reversal.initials.empty()) found_.push_back(std::move(reversal));
}

/// Who could have gone on, didn't, and then no longer could, or never did.
void Order::find_disabled() {
  const Step* next = nullptr;  // decision
  for (size_t step = steps_.size(); step-- > 0;) {
    if (steps_[step].enabled.empty()) continue;
    for (ActorNumber actor : steps_[step].enabled) {
      if (actor == steps_[step].actor || (next && is_enabled(*next, actor))) continue;
      found_.push_back({step, {actor}});
    }
    next = &steps_[step];
  }
}

}  // namespace

std::vector<Reversal> reversals(std::span<const Step> steps) {
  return Order(steps).take();
}

}  // namespace doppel::explorer
