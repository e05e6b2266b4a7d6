#include "emulator/dispatch/dispatcher.h"

#include <list>

#include <fmt/format.h>

#include "core/assert.h"
#include "emulator/dispatch/rsrc.h"
#include "emulator/dispatch/worker.h"
#include "emulator/dispatch/worker_pool.h"
#include "emulator/isa/coverage.h"

namespace doppel::emu {
namespace {

constexpr size_t kCachedPrograms = 64;

Fault bad_dispatch(std::string message) {
  Fault fault;
  fault.kind = FaultKind::BadDispatch;
  fault.message = std::move(message);
  return fault;
}

}  // namespace

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
  WorkSource source;
  std::vector<std::unique_ptr<Worker>> workers;
  WorkerPool pool;
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
      sum.lds_out_of_range += worker->lds_out_of_range();
    }
    return sum;
  }

  void retire() {
    for (const auto& worker : workers) {
      worker->counters = {};
      worker->executed = 0;
    }
  }

  /// `instructions` for each worker.
  void run_workers(uint64_t instructions) {
    if (active_workers == 1) {
      workers[0]->run(instructions, source);
    } else {
      pool.run(active_workers, [&](uint32_t i) { workers[i]->run(instructions, source); });
    }
    if (options.coverage == nullptr) return;
    for (uint32_t i = 0; i < active_workers; ++i) {
      options.coverage->add(launch.dispatch.target->family, workers[i]->executed_per_row);
      std::ranges::fill(workers[i]->executed_per_row, 0);
    }
  }

  /// A fault waits for the workgroups below its own: the lowest one's counts.
  void collect() {
    const Workgroup* first = nullptr;
    bool idle = source.exhausted();
    for (const auto& worker : workers) {
      const Workgroup* faulted = worker->faulted();
      if (faulted != nullptr && (first == nullptr || faulted->linear() < first->linear())) {
        first = faulted;
      }
      idle = idle && worker->idle();
    }
    const bool spent = current().wave_instructions >= options.instruction_budget;
    if (first != nullptr && (idle || spent)) {
      fault = first->fault();
      state = DispatchState::Faulted;
    } else if (idle) {
      state = DispatchState::Done;
    } else if (spent) {
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
    fault.message = fmt::format(
        "The dispatch never ends, or needs more wave-instructions than the "
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
    impl.workers[i]->begin(launch, i * launch.waves, impl.clock, impl.options.coverage != nullptr);
  }
  impl.source.begin(launch.workgroups(), impl.active_workers);
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

void Dispatcher::abandon() {
  impl_->state = DispatchState::Idle;
}

}  // namespace doppel::emu
