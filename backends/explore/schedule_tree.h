// ScheduleTree: the schedules that are still to be run, as one path of decisions with what is to be
// tried at each. A run follows the path and prolongs it; what the run shows is added; then the last
// decision that has something left is changed.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "emulator/verify/step_log.h"

namespace doppel::explorer {

class ScheduleTree {
 public:
  /// `reduce`: of orders that make no difference, one is enough.
  explicit ScheduleTree(bool reduce) : reduce_(reduce) {}

  /// A run begins; `log` is of its steps and lives until advance() has returned.
  void begin(verify::StepLog& log);
  /// Who goes on, of these. Begins the log's next step.
  verify::ActorNumber decide(std::vector<verify::ActorNumber> enabled);
  /// The run has ended: takes over what it shows. False: it did not follow the path, because the
  /// program did something else.
  bool end();
  /// Goes to the next schedule. False: there is none.
  bool advance();

  /// Whether the run repeats a class of schedules that was run before.
  bool redundant() const { return redundant_; }

 private:
  using Sleepers = std::map<verify::ActorNumber, verify::Footprint>;  // with their next step

  struct Node {
    std::vector<verify::ActorNumber> enabled;
    verify::ActorNumber chosen = 0;
    std::set<verify::ActorNumber> wanted, tried;
    Sleepers asleep;  // what they would begin has been run
  };

  const verify::Step& step_of(size_t decision) const { return log_->steps()[steps_[decision]]; }
  Node make_node(std::vector<verify::ActorNumber> enabled) const;

  const bool reduce_;
  std::vector<Node> path_;
  // Of the current run:
  verify::StepLog* log_ = nullptr;
  std::vector<size_t> steps_;  // by decision
  bool redundant_ = false;
  bool lost_ = false;
};

}  // namespace doppel::explorer
