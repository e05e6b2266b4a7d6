#include "emulator/cp/compute_pipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"
#include "emulator/hardware_queue.h"
#include "emulator/scheduler.h"
#include "emulator/verify/observer.h"

namespace doppel::emu {
namespace {

constexpr uint64_t kInstructionsPerStep = 32 * 1024;
constexpr uint64_t kLaunchNs = 1000;

bool uses_scratch(const Dispatch& dispatch) {
  return dispatch.scratch_bytes_per_wave != 0;
}

}  // namespace

/// Runs one dispatch at a time.
class ComputePipe::Slot final : public Block {
 public:
  Slot(ComputePipe& pipe, uint32_t index)
      : pipe_(pipe), index_(index), dispatcher_(pipe.gpu_.scheduler->clock(), pipe.options_) {}

  bool free() const { return state_ == DispatchState::Idle; }
  bool finished() const {
    return state_ == DispatchState::Done || state_ == DispatchState::Faulted;
  }

  std::expected<void, Fault> start(const Dispatch& dispatch, uint64_t tag) {
    tag_ = tag;
    auto started = dispatcher_.start(dispatch);
    if (started) state_ = DispatchState::Running;
    return started;
  }

  void release() {
    dispatcher_.abandon();
    state_ = DispatchState::Idle;
  }

  const Dispatcher& dispatcher() const { return dispatcher_; }

  std::string name() const override {
    return fmt::format("{}, dispatch slot {}", pipe_.queue_->name, index_);
  }
  bool runnable() override { return state_ == DispatchState::Running; }
  bool idle() override { return state_ != DispatchState::Running; }

  uint64_t step() override {
    const DispatchCounters before = dispatcher_.counters();
    state_ = dispatcher_.step(kInstructionsPerStep);
    const DispatchCounters after = dispatcher_.counters();
    pipe_.gpu_.counters.workgroups += after.workgroups - before.workgroups;
    pipe_.gpu_.counters.waves += after.waves - before.waves;
    pipe_.gpu_.counters.wave_instructions += after.wave_instructions - before.wave_instructions;
    if (finished()) ++pipe_.finished_;
    if (Observer* observer = pipe_.gpu_.observer) {
      observer->on_dispatch_step(*pipe_.queue_, tag_);
      if (state_ == DispatchState::Done) observer->on_dispatch_end(*pipe_.queue_, tag_, after);
    }
    // One nanosecond a wave-instruction: the order of magnitude of one SIMD.
    const uint64_t ns = after.wave_instructions - before.wave_instructions;
    return finished() ? ns + kLaunchNs : std::max<uint64_t>(ns, 1);
  }

 private:
  ComputePipe& pipe_;
  const uint32_t index_;
  uint64_t tag_ = 0;
  Dispatcher dispatcher_;
  DispatchState state_ = DispatchState::Idle;
};

ComputePipe::ComputePipe(GpuContext& gpu, const QueueRef& queue, DispatcherOptions options)
    : gpu_(gpu), queue_(std::make_unique<const QueueRef>(queue)), options_(options) {}

ComputePipe::~ComputePipe() {
  for (auto& slot : slots_) gpu_.scheduler->remove(*slot);
}

ComputePipe::Slot& ComputePipe::free_slot() {
  for (auto& slot : slots_) {
    if (slot->free()) return *slot;
  }
  const auto index = static_cast<uint32_t>(slots_.size());
  slots_.push_back(std::make_unique<Slot>(*this, index));
  gpu_.scheduler->add(*slots_.back());
  return *slots_.back();
}

bool ComputePipe::can_launch(const Dispatch& dispatch) const {
  return has_slot() && !(uses_scratch(dispatch) && scratch_in_use());
}

std::expected<void, Fault> ComputePipe::launch(Dispatch dispatch, uint64_t tag) {
  DOPPEL_ASSERT(can_launch(dispatch), "The pipe launches only into a free slot.");
  Slot& slot = free_slot();
  if (gpu_.observer) {
    dispatch.log = gpu_.observer->on_dispatch(*queue_, tag, dispatch);
    dispatch.probe = gpu_.observer->on_probe(*queue_, tag, dispatch);
  }
  auto started = slot.start(dispatch, tag);
  if (!started) return started;
  ++gpu_.counters.dispatches;
  line_.push_back({tag, &slot, uses_scratch(dispatch)});
  ++running_;
  scratch_users_ += uses_scratch(dispatch);
  return {};
}

void ComputePipe::at_end_of_pipe(uint64_t tag) {
  DOPPEL_ASSERT(can_queue_event(), "The pipe queues a bounded number of events.");
  line_.push_back({.tag = tag});
  ++events_;
  if (gpu_.observer) gpu_.observer->on_end_of_pipe_queued(*queue_, tag);
}

bool ComputePipe::has_completion() const {
  return finished_ != 0 || (!line_.empty() && !line_.front().slot);
}

ComputePipe::Completion ComputePipe::take_completion() {
  const auto ready = std::ranges::find_if(line_, [&](const Entry& entry) {
    return entry.slot ? entry.slot->finished() : &entry == &line_.front();
  });
  DOPPEL_ASSERT(ready != line_.end(), "A completion is taken only if there is one.");
  const Entry entry = *ready;
  line_.erase(ready);
  if (!entry.slot) {
    --events_;
    return {Completion::What::EndOfPipe, entry.tag, {}};
  }
  --running_;
  --finished_;
  scratch_users_ -= entry.uses_scratch;
  Completion completion{Completion::What::DispatchDone, entry.tag, {}};
  if (entry.slot->dispatcher().state() == DispatchState::Faulted) {
    completion.what = Completion::What::DispatchFaulted;
    completion.fault = entry.slot->dispatcher().fault();
  }
  entry.slot->release();
  return completion;
}

void ComputePipe::abandon() {
  for (auto& slot : slots_) slot->release();
  line_.clear();
  running_ = events_ = scratch_users_ = finished_ = 0;
}

}  // namespace doppel::emu
