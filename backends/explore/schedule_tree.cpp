#include "backends/explore/schedule_tree.h"

#include <algorithm>

#include "backends/explore/reversals.h"

namespace doppel::explorer {

using verify::ActorNumber;

void ScheduleTree::begin(verify::StepLog& log) {
  log_ = &log;
  steps_.clear();
  redundant_ = false;
  lost_ = false;
}

ActorNumber ScheduleTree::decide(std::vector<ActorNumber> enabled) {
  const size_t decision = steps_.size();
  ActorNumber chosen = enabled.front();
  if (decision < path_.size()) {
    lost_ |= path_[decision].enabled != enabled;
    if (!lost_) chosen = path_[decision].chosen;
  } else if (!lost_ && !redundant_) {
    Node node = make_node(enabled);
    const auto awake = std::ranges::find_if(
        enabled, [&](ActorNumber actor) { return !node.asleep.contains(actor); });
    if (awake == enabled.end()) {
      redundant_ = true;
    } else {
      chosen = node.chosen = *awake;
      node.tried.insert(chosen);
      path_.push_back(std::move(node));
    }
  }
  steps_.push_back(log_->size());
  log_->begin(chosen, std::move(enabled));
  return chosen;
}

/// The decision that follows the path's last.
ScheduleTree::Node ScheduleTree::make_node(std::vector<ActorNumber> enabled) const {
  Node node;
  if (!reduce_) node.wanted.insert(enabled.begin(), enabled.end());
  if (!path_.empty()) {
    const Node& last = path_.back();
    const verify::Step& step = step_of(path_.size() - 1);
    for (const auto& [actor, touched] : last.asleep) {
      const bool sleeps_on = actor != last.chosen && step.complete &&
                             !touched.conflicts(step.touched) &&
                             std::ranges::find(enabled, actor) != enabled.end();
      if (sleeps_on) node.asleep.emplace(actor, touched);
    }
  }
  node.enabled = std::move(enabled);
  return node;
}

bool ScheduleTree::end() {
  if (lost_ || steps_.size() < path_.size()) return false;
  if (!reduce_) return true;
  std::map<size_t, size_t> decisions;  // by step
  for (size_t decision = 0; decision < path_.size(); ++decision) {
    decisions[steps_[decision]] = decision;
  }
  for (const Reversal& reversal : reversals(log_->steps())) {
    const auto found = decisions.find(reversal.at);
    if (found == decisions.end()) continue;
    Node& node = path_[found->second];
    const bool known = std::ranges::any_of(reversal.initials, [&](ActorNumber actor) {
      return node.tried.contains(actor) || node.wanted.contains(actor);
    });
    if (!known) node.wanted.insert(reversal.initials.front());
  }
  return true;
}

bool ScheduleTree::advance() {
  while (!path_.empty()) {
    Node& node = path_.back();
    const verify::Step& step = step_of(path_.size() - 1);
    if (reduce_ && step.complete) node.asleep.insert_or_assign(node.chosen, step.touched);
    const auto next = std::ranges::find_if(node.wanted, [&](ActorNumber actor) {
      return !node.tried.contains(actor) && !node.asleep.contains(actor);
    });
    if (next != node.wanted.end()) {
      node.chosen = *next;
      node.tried.insert(*next);
      return true;
    }
    path_.pop_back();
  }
  return false;
}

}  // namespace doppel::explorer
