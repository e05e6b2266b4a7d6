// Worker: one thread's share of a dispatch: the workgroups it has taken up, run in turns.
// WorkSource: the workgroups of a dispatch that no worker owns yet; shared by its workers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "emulator/dispatch/dispatcher.h"
#include "emulator/dispatch/workgroup.h"
#include "emulator/isa/code_cache.h"

namespace doppel::emu {

struct WorkRange {
  uint64_t next = 0;
  uint64_t end = 0;

  bool empty() const { return next >= end; }
};

/// Hands out workgroups in order, in runs that shrink towards the end: neighbours touch
/// neighbouring cache lines, so that workers which alternate would fight for them. After a fault
/// only the workgroups below the faulted one matter: the fault of the lowest workgroup is the
/// dispatch's, however many workers there are. Thread-safe but for begin().
class WorkSource {
 public:
  void begin(uint64_t workgroups, uint32_t workers) {
    next_.store(0, std::memory_order_relaxed);
    end_.store(workgroups, std::memory_order_relaxed);
    faulted_.store(false, std::memory_order_relaxed);
    workers_ = workers;
  }
  /// Empty when nothing is left.
  WorkRange take() {
    uint64_t next = next_.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t last = end();
      if (next >= last) return {};
      const uint64_t run = std::max<uint64_t>((last - next) / (kRunsPerWorker * workers_), 1);
      if (next_.compare_exchange_weak(next, next + run, std::memory_order_relaxed)) {
        return {next, next + run};
      }
    }
  }
  void report_fault(uint64_t linear) {
    uint64_t end = end_.load(std::memory_order_relaxed);
    while (linear < end && !end_.compare_exchange_weak(end, linear, std::memory_order_relaxed)) {
    }
    faulted_.store(true, std::memory_order_relaxed);
  }
  bool faulted() const { return faulted_.load(std::memory_order_relaxed); }
  /// Workgroups from this one on need not run.
  uint64_t end() const { return end_.load(std::memory_order_relaxed); }
  bool exhausted() const { return next_.load(std::memory_order_relaxed) >= end(); }

 private:
  static constexpr uint64_t kRunsPerWorker = 4;  // of what is left

  alignas(64) std::atomic<uint64_t> next_{0};  // written for each run
  alignas(64) std::atomic<uint64_t> end_{0};   // read for each turn
  std::atomic<bool> faulted_{false};
  uint32_t workers_ = 1;
};

class alignas(64) Worker {
 public:
  void begin(const Launch& launch, uint32_t first_scratch_slot, const Clock& clock,
             bool count_rows);

  /// Runs until `budget` instructions are executed or nothing is left.
  void run(uint64_t budget, WorkSource& source);

  bool idle() const { return resident_.empty() && own_.empty(); }
  Workgroup* first_resident() { return resident_.empty() ? nullptr : resident_.front().get(); }
  /// The lowest workgroup that has faulted.
  const Workgroup* faulted() const { return faulted_.get(); }

  /// LDS accesses beyond the allocation since begin().
  uint64_t lds_out_of_range() const { return context_.lds_out_of_range; }

  uint64_t executed = 0;
  DispatchCounters counters;
  std::vector<uint64_t> executed_per_row;  // empty: not counted

 private:
  Workgroup* take(WorkSource& source);
  std::optional<uint64_t> next_workgroup(WorkSource& source);
  bool room() const;
  std::unique_ptr<Workgroup> recycle();
  void settle(WorkSource& source);
  void drop_what_does_not_matter(const WorkSource& source);

  const Launch* launch_ = nullptr;
  uint32_t first_scratch_slot_ = 0;
  ExecutionContext context_;
  std::array<TlbEntry, isa::kTlbEntries> tlb_{};
  WorkRange own_;  // not yet taken up
  std::deque<std::unique_ptr<Workgroup>> resident_;
  std::vector<std::unique_ptr<Workgroup>> spare_;
  std::unique_ptr<Workgroup> faulted_;
  uint64_t grace_ = 0;  // instructions left for workgroups below a faulted one
  size_t turns_since_add_ = 0;
};

}  // namespace doppel::emu
