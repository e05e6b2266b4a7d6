#include "emulator/dispatch/worker.h"

#include <utility>

#include "emulator/isa/row.h"

namespace doppel::emu {
namespace {

/// Instructions a workgroup executes before another one is taken up beside it; a workgroup that
/// waits for another's memory thus cannot stop the dispatch.
constexpr uint64_t kWorkgroupTurn = 1 << 20;
constexpr size_t kResidentWorkgroups = 64;  // per worker
/// What a worker still executes of workgroups below a faulted one: enough to find the fault that
/// comes first, and an end for those that wait for what the faulted one does no more.
constexpr uint64_t kFaultGrace = 16 * kWorkgroupTurn;

}  // namespace

void Worker::begin(const Launch& launch, uint32_t first_scratch_slot, const Clock& clock,
                   bool count_rows) {
  launch_ = &launch;
  first_scratch_slot_ = first_scratch_slot;
  context_.vm = launch.dispatch.vm;
  context_.clock = &clock;
  context_.log = launch.dispatch.log;
  context_.tlb = tlb_.data();
  context_.lds_out_of_range = 0;
  tlb_.fill({});
  own_ = {};
  resident_.clear();
  faulted_.reset();
  grace_ = kFaultGrace;
  executed = 0;
  executed_per_row.assign(count_rows ? isa::all_rows().size() : 0, 0);
}

void Worker::run(uint64_t budget, WorkSource& source) {
  uint64_t left = budget;
  uint64_t* per_row = executed_per_row.empty() ? nullptr : executed_per_row.data();
  while (left != 0) {
    if (source.faulted()) drop_what_does_not_matter(source);
    Workgroup* workgroup = take(source);
    if (workgroup == nullptr) return;
    const uint64_t done = workgroup->run(std::min(left, kWorkgroupTurn), per_row);
    executed += done;
    left -= std::min(left, done);
    if (source.faulted()) grace_ -= std::min(grace_, done);
    settle(source);
  }
}

/// The workgroup to run: the one in front, or a new one if every resident had its turn.
Workgroup* Worker::take(WorkSource& source) {
  const bool may_add = resident_.empty() || (turns_since_add_ >= resident_.size() && room());
  if (may_add) {
    if (const auto linear = next_workgroup(source)) {
      std::unique_ptr<Workgroup> workgroup = recycle();
      workgroup->launch(*launch_, *linear, first_scratch_slot_, context_);
      ++counters.workgroups;
      counters.waves += workgroup->wave_count();
      resident_.push_front(std::move(workgroup));
      turns_since_add_ = 0;
    }
  }
  return resident_.empty() ? nullptr : resident_.front().get();
}

std::optional<uint64_t> Worker::next_workgroup(WorkSource& source) {
  if (own_.empty()) own_ = source.take();
  if (own_.empty()) return std::nullopt;
  return own_.next++;
}

/// Without private memory any number may be resident; with it, one per share of the ring.
bool Worker::room() const {
  return resident_.size() < (launch_->dispatch.scratch_waves == 0 ? kResidentWorkgroups : 1);
}

std::unique_ptr<Workgroup> Worker::recycle() {
  if (spare_.empty()) return std::make_unique<Workgroup>();
  std::unique_ptr<Workgroup> workgroup = std::move(spare_.back());
  spare_.pop_back();
  return workgroup;
}

/// After the turn of the workgroup in front.
void Worker::settle(WorkSource& source) {
  std::unique_ptr<Workgroup> workgroup = std::move(resident_.front());
  resident_.pop_front();
  switch (workgroup->state()) {
    case WorkgroupState::Done:
      spare_.push_back(std::move(workgroup));
      break;
    case WorkgroupState::Faulted:
      source.report_fault(workgroup->linear());
      if (faulted_ == nullptr || workgroup->linear() < faulted_->linear()) {
        faulted_ = std::move(workgroup);
      }
      break;
    case WorkgroupState::Running:
      resident_.push_back(std::move(workgroup));
      ++turns_since_add_;
      break;
  }
}

void Worker::drop_what_does_not_matter(const WorkSource& source) {
  own_.end = grace_ == 0 ? own_.next : std::min(own_.end, source.end());
  std::erase_if(resident_, [&](const std::unique_ptr<Workgroup>& workgroup) {
    return grace_ == 0 || workgroup->linear() >= source.end();
  });
}

}  // namespace doppel::emu
