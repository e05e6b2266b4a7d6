#include "emulator/dispatch/dispatcher.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "core/assert.h"
#include "emulator/dispatch/rsrc.h"
#include "emulator/dispatch/workgroup.h"

namespace doppel::emu {
namespace {

/// Instructions a workgroup executes before another one is taken up beside it; a workgroup that
/// waits for another's memory thus cannot stop the dispatch.
constexpr uint64_t kWorkgroupTurn = 1 << 20;
constexpr size_t kResidentWorkgroups = 64;  // per worker
constexpr size_t kCachedPrograms = 64;

Fault bad_dispatch(std::string message) {
  Fault fault;
  fault.kind = FaultKind::BadDispatch;
  fault.message = std::move(message);
  return fault;
}

}  // namespace

/// Runs workgroups on one thread.
class Worker {
 public:
  void begin(const Launch& launch, uint32_t first_scratch_slot, const Clock& clock) {
    launch_ = &launch;
    first_scratch_slot_ = first_scratch_slot;
    context_.vm = launch.dispatch.vm;
    context_.clock = &clock;
    context_.log = launch.dispatch.log;
    context_.tlb = tlb_.data();
    tlb_.fill({});
    resident_.clear();
    executed = 0;
    faulted = nullptr;
  }

  /// Runs until `budget` instructions are executed or nothing is left.
  void run(uint64_t budget, std::atomic<uint64_t>& next_workgroup, std::atomic<bool>& stop,
           uint64_t* executed_per_row) {
    uint64_t left = budget;
    while (left != 0 && !stop.load(std::memory_order_relaxed)) {
      Workgroup* workgroup = take(next_workgroup);
      if (workgroup == nullptr) return;
      const uint64_t done = workgroup->run(std::min(left, kWorkgroupTurn), executed_per_row);
      executed += done;
      left -= std::min(left, done);
      settle(*workgroup, stop);
    }
  }

  bool idle() const { return resident_.empty(); }
  Workgroup* first_resident() { return resident_.empty() ? nullptr : resident_.front().get(); }

  uint64_t executed = 0;
  DispatchCounters counters;
  Workgroup* faulted = nullptr;

 private:
  /// The workgroup to run: the one in front, or a new one if every resident had its turn.
  Workgroup* take(std::atomic<uint64_t>& next_workgroup) {
    const bool may_add = resident_.empty() || (turns_since_add_ >= resident_.size() && room());
    if (may_add) {
      const uint64_t linear = next_workgroup.fetch_add(1, std::memory_order_relaxed);
      if (linear < launch_->workgroups()) {
        std::unique_ptr<Workgroup> workgroup = recycle();
        workgroup->launch(*launch_, linear, scratch_slot(), context_);
        ++counters.workgroups;
        counters.waves += workgroup->wave_count();
        resident_.push_front(std::move(workgroup));
        turns_since_add_ = 0;
      }
    }
    return resident_.empty() ? nullptr : resident_.front().get();
  }

  /// Without private memory any number may be resident; with it, one per share of the ring.
  bool room() const {
    return resident_.size() < (launch_->dispatch.scratch_waves == 0 ? kResidentWorkgroups : 1);
  }
  uint32_t scratch_slot() const { return first_scratch_slot_; }

  std::unique_ptr<Workgroup> recycle() {
    if (spare_.empty()) return std::make_unique<Workgroup>();
    std::unique_ptr<Workgroup> workgroup = std::move(spare_.back());
    spare_.pop_back();
    return workgroup;
  }

  void settle(Workgroup& workgroup, std::atomic<bool>& stop) {
    switch (workgroup.state()) {
      case WorkgroupState::Done:
        spare_.push_back(std::move(resident_.front()));
        resident_.pop_front();
        break;
      case WorkgroupState::Faulted:
        faulted = &workgroup;
        stop.store(true, std::memory_order_relaxed);
        break;
      case WorkgroupState::Running:
        resident_.push_back(std::move(resident_.front()));
        resident_.pop_front();
        ++turns_since_add_;
        break;
    }
  }

  const Launch* launch_ = nullptr;
  uint32_t first_scratch_slot_ = 0;
  ExecutionContext context_;
  std::array<TlbEntry, isa::kTlbEntries> tlb_{};
  std::deque<std::unique_ptr<Workgroup>> resident_;
  std::vector<std::unique_ptr<Workgroup>> spare_;
  size_t turns_since_add_ = 0;
};

struct Dispatcher::Impl {
  struct CachedProgram {
    const GpuVm* vm;
    uint64_t program;
    std::unique_ptr<isa::CodeCache> code;
  };

  Impl(const Clock& time, DispatcherOptions chosen) : clock(time), options(chosen) {}

  const Clock& clock;
  DispatcherOptions options;
  Launch launch;
  DispatchState state = DispatchState::Idle;
  Fault fault;
  DispatchCounters finished;  // of earlier dispatches
  std::atomic<uint64_t> next_workgroup{0};
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Worker>> workers;
  uint32_t active_workers = 1;
  std::list<CachedProgram> programs;  // most recently used first

  isa::CodeCache& code_for(const Dispatch& dispatch, const isa::CodeOptions& code_options) {
    for (auto it = programs.begin(); it != programs.end(); ++it) {
      if (it->vm != dispatch.vm || it->program != dispatch.program ||
          it->code->options() != code_options) {
        continue;
      }
      if (!it->code->is_current()) {
        programs.erase(it);
        break;
      }
      programs.splice(programs.begin(), programs, it);
      return *programs.front().code;
    }
    if (programs.size() == kCachedPrograms) programs.pop_back();
    programs.push_front({dispatch.vm, dispatch.program,
                         std::make_unique<isa::CodeCache>(code_options, *dispatch.vm)});
    return *programs.front().code;
  }

  DispatchCounters current() const {
    DispatchCounters sum;
    for (const auto& worker : workers) {
      sum.workgroups += worker->counters.workgroups;
      sum.waves += worker->counters.waves;
      sum.wave_instructions += worker->executed;
    }
    return sum;
  }

  void retire() {
    const DispatchCounters last = current();
    finished.workgroups += last.workgroups;
    finished.waves += last.waves;
    finished.wave_instructions += last.wave_instructions;
    for (const auto& worker : workers) {
      worker->counters = {};
      worker->executed = 0;
    }
  }

  void run_workers(uint64_t instructions) {
    if (active_workers == 1) {
      workers[0]->run(instructions, next_workgroup, stop, nullptr);
      return;
    }
    std::vector<std::jthread> threads;
    for (uint32_t i = 1; i < active_workers; ++i) {
      threads.emplace_back([&, i] {
        workers[i]->run(instructions / active_workers, next_workgroup, stop, nullptr);
      });
    }
    workers[0]->run(instructions / active_workers, next_workgroup, stop, nullptr);
  }

  /// The fault of the lowest workgroup, so that it does not depend on thread timing more than the
  /// faults themselves do.
  void collect() {
    Workgroup* first = nullptr;
    bool idle = next_workgroup.load() >= launch.workgroups();
    for (const auto& worker : workers) {
      if (worker->faulted != nullptr &&
          (first == nullptr || worker->faulted->linear() < first->linear())) {
        first = worker->faulted;
      }
      idle = idle && worker->idle();
    }
    if (first != nullptr) {
      fault = first->fault();
      state = DispatchState::Faulted;
    } else if (idle) {
      state = DispatchState::Done;
    } else if (current().wave_instructions >= options.instruction_budget) {
      raise_budget();
    }
  }

  void raise_budget() {
    fault = Fault{};
    for (const auto& worker : workers) {
      Workgroup* workgroup = worker->first_resident();
      Wave* wave = workgroup == nullptr ? nullptr : workgroup->running_wave();
      if (wave == nullptr) continue;
      wave->raise(wave->resume, Fault{});
      fault = *wave->fault;
      break;
    }
    fault.kind = FaultKind::InstructionBudget;
    fault.message = fmt::format("The dispatch never ends, or needs more wave-instructions than the "
                                "device allows ({}; setting \"instructions\").",
                                options.instruction_budget);
    state = DispatchState::Faulted;
  }
};

Dispatcher::Dispatcher(const Clock& clock, DispatcherOptions options)
    : impl_(std::make_unique<Impl>(clock, options)) {
  const uint32_t count = std::max(options.workers, 1u);
  for (uint32_t i = 0; i < count; ++i) impl_->workers.push_back(std::make_unique<Worker>());
}

Dispatcher::~Dispatcher() = default;

namespace {

std::expected<void, Fault> check(const Dispatch& dispatch) {
  const Target& target = *dispatch.target;
  uint64_t items = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (dispatch.grid[axis] == 0 || dispatch.workgroup[axis] == 0) {
      return std::unexpected(bad_dispatch(
          fmt::format("The dispatch is empty (grid {}x{}x{}, workgroup {}x{}x{}).",
                      dispatch.grid[0], dispatch.grid[1], dispatch.grid[2], dispatch.workgroup[0],
                      dispatch.workgroup[1], dispatch.workgroup[2])));
    }
    if (dispatch.workgroup[axis] > target.max_workgroup_size ||
        dispatch.last_workgroup[axis] > dispatch.workgroup[axis]) {
      return std::unexpected(bad_dispatch(
          fmt::format("The workgroup is too large (axis {}, {} work-items, {} in the last one).",
                      axis, dispatch.workgroup[axis], dispatch.last_workgroup[axis])));
    }
    items *= dispatch.workgroup[axis];
  }
  if (items > target.max_workgroup_size) {
    return std::unexpected(
        bad_dispatch(fmt::format("The workgroup has more work-items than {} allows ({} > {}).",
                                 target.name, items, target.max_workgroup_size)));
  }
  if (dispatch.lds_bytes > target.lds_bytes) {
    return std::unexpected(
        bad_dispatch(fmt::format("The workgroup uses more LDS than {} has ({} > {} bytes).",
                                 target.name, dispatch.lds_bytes, target.lds_bytes)));
  }
  const uint8_t wave_bit = dispatch.wave32 ? 0x20 : 0x40;
  if ((target.wave_sizes & wave_bit) == 0 || isa::encodings(target.family).empty()) {
    return std::unexpected(bad_dispatch(fmt::format("{} code cannot be executed (wave{}).",
                                                    target.name, dispatch.wave32 ? 32 : 64)));
  }
  return {};
}

}  // namespace

std::expected<void, Fault> Dispatcher::start(const Dispatch& dispatch) {
  Impl& impl = *impl_;
  DOPPEL_ASSERT(impl.state != DispatchState::Running, "one dispatch at a time");
  if (auto ok = check(dispatch); !ok) return ok;
  impl.retire();
  Launch& launch = impl.launch;
  launch.dispatch = dispatch;
  launch.lanes = dispatch.wave32 ? 32 : 64;
  const Rsrc1 rsrc1(dispatch.rsrc1);
  launch.vgprs = rsrc1.vgprs(*dispatch.target, !dispatch.wave32);
  launch.mode.set(rsrc1.mode());
  const uint32_t items = dispatch.workgroup[0] * dispatch.workgroup[1] * dispatch.workgroup[2];
  launch.waves = (items + launch.lanes - 1) / launch.lanes;
  impl.active_workers =
      static_cast<uint32_t>(std::min<uint64_t>(impl.workers.size(), launch.workgroups()));
  // An observer wants one order of accesses and instructions.
  if (dispatch.log || dispatch.probe) impl.active_workers = 1;
  if (Rsrc2(dispatch.rsrc2).scratch() && dispatch.scratch_waves != 0) {
    if (dispatch.scratch_waves < launch.waves) {
      return std::unexpected(bad_dispatch(
          fmt::format("The scratch ring has fewer slots than a workgroup has waves ({} < {}).",
                      dispatch.scratch_waves, launch.waves)));
    }
    impl.active_workers = std::min(impl.active_workers, dispatch.scratch_waves / launch.waves);
  }
  if (!dispatch.vm->translate(dispatch.program, 4, Access::Execute)) {
    Fault fault = bad_dispatch(
        fmt::format("The program is not executable memory (va {:#x}).", dispatch.program));
    fault.address = dispatch.program;
    fault.nearest_allocation = dispatch.vm->describe_nearest(dispatch.program);
    return std::unexpected(std::move(fault));
  }
  launch.code = &impl.code_for(
      dispatch, {.target = dispatch.target, .wave64 = !dispatch.wave32, .vgprs = launch.vgprs});
  launch.entry = launch.code->at(dispatch.program);
  for (uint32_t i = 0; i < impl.workers.size(); ++i) {
    impl.workers[i]->begin(launch, i * launch.waves, impl.clock);
  }
  impl.next_workgroup.store(0);
  impl.stop.store(false);
  impl.state = DispatchState::Running;
  return {};
}

DispatchState Dispatcher::step(uint64_t instructions) {
  Impl& impl = *impl_;
  if (impl.state != DispatchState::Running) return impl.state;
  const uint64_t used = impl.current().wave_instructions;
  const uint64_t left =
      impl.options.instruction_budget - std::min(used, impl.options.instruction_budget);
  impl.run_workers(std::min(instructions, left));
  impl.collect();
  return impl.state;
}

DispatchState Dispatcher::state() const {
  return impl_->state;
}
const Fault& Dispatcher::fault() const {
  return impl_->fault;
}
DispatchCounters Dispatcher::counters() const {
  return impl_->current();
}
DispatchCounters Dispatcher::total_counters() const {
  DispatchCounters total = impl_->current();
  total.workgroups += impl_->finished.workgroups;
  total.waves += impl_->finished.waves;
  total.wave_instructions += impl_->finished.wave_instructions;
  return total;
}

void Dispatcher::abandon() {
  impl_->state = DispatchState::Idle;
}

}  // namespace doppel::emu
