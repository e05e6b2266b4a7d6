#include "emulator/dispatch/workgroup.h"

#include <algorithm>

#include "core/assert.h"
#include "emulator/dispatch/rsrc.h"
#include "emulator/wave/interpreter.h"

namespace doppel::emu {
namespace {

/// Instructions a wave executes before the next one has its turn, if nothing stops it earlier.
constexpr uint64_t kWaveTurn = 16384;

}  // namespace

void Workgroup::launch(const Launch& launch, uint64_t linear, uint32_t first_scratch_slot,
                       ExecutionContext& context) {
  launch_ = &launch;
  linear_ = linear;
  first_scratch_slot_ = first_scratch_slot;
  const Dispatch& dispatch = launch.dispatch;
  uint64_t rest = linear;
  items_ = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const auto index = static_cast<uint32_t>(rest % dispatch.grid[axis]);
    rest /= dispatch.grid[axis];
    id_[axis] = dispatch.start[axis] + index;
    const bool partial = index + 1 == dispatch.grid[axis] && dispatch.last_workgroup[axis] != 0;
    size_[axis] = partial ? dispatch.last_workgroup[axis] : dispatch.workgroup[axis];
    items_ *= size_[axis];
  }
  wave_count_ = (items_ + launch.lanes - 1) / launch.lanes;
  const size_t halves = launch.lanes / kHalfLanes;
  const size_t needed = size_t{wave_count_} * halves * kVgprSlots;
  if (registers_.size() < needed) registers_.resize(needed);
  while (waves_.size() < wave_count_) waves_.push_back(std::make_unique<Wave>());
  lds_.assign(dispatch.lds_bytes, std::byte{0});
  ended_ = at_barrier_ = next_wave_ = 0;
  faulted_ = nullptr;
  code_version_ = 0;
  state_ = WorkgroupState::Running;
  for (uint32_t i = 0; i < wave_count_; ++i) {
    waves_[i]->vgprs = registers_.data() + i * halves * kVgprSlots;
    reset_wave(*waves_[i], i, context);
  }
}

void Workgroup::reset_wave(Wave& wave, uint32_t index, ExecutionContext& context) {
  const Launch& launch = *launch_;
  wave.s.fill(0);
  wave.scc = 0;
  wave.lanes = launch.lanes;
  wave.mode = launch.mode;
  wave.in_mode64 = false;
  wave.context = &context;
  wave.code = launch.code;
  wave.target = launch.dispatch.target;
  wave.lds = lds_;
  wave.resume = launch.entry;
  wave.stop = WaveStop::Yielded;
  wave.fault.reset();
  wave.workgroup = this;
  wave.index = index;
  wave.vgpr_limit = launch.vgprs;
  wave.base[static_cast<size_t>(isa::Base::Wave)] =
      reinterpret_cast<const std::byte*>(static_cast<const WaveOperands*>(&wave));
  wave.apertures = {kSharedAperture, kSharedAperture | 0xffffffff, kPrivateAperture,
                    kPrivateAperture | 0xffffffff, 0};
  wave.select_half(0);
  for (uint32_t half = 0; half < launch.lanes / kHalfLanes; ++half) {
    std::fill_n(wave.vgprs + half * kVgprSlots, launch.vgprs, LaneRegister{});
  }
  const uint64_t slot = first_scratch_slot_ + index;
  wave.scratch_base = launch.dispatch.scratch_base + slot * launch.dispatch.scratch_bytes_per_wave;
  wave.scratch_bytes_lane = launch.dispatch.scratch_bytes_per_wave / launch.lanes;
  wave.flat_scratch = wave.scratch_base;
  const uint32_t first_item = index * launch.lanes;
  const uint32_t active = std::min(launch.lanes, items_ - first_item);
  wave.set_pair(isa::kExecLo, active == 64 ? ~uint64_t{0} : (uint64_t{1} << active) - 1);
  set_initial_sgprs(wave, index);
  set_initial_vgprs(wave, first_item);
}

/// User data, then what RSRC2 enables: workgroup ids, TG_SIZE, the scratch wave offset.
void Workgroup::set_initial_sgprs(Wave& wave, uint32_t index) {
  const Dispatch& dispatch = launch_->dispatch;
  const Rsrc2 rsrc2(dispatch.rsrc2);
  uint32_t next = 0;
  for (; next < rsrc2.user_sgprs(); ++next) {
    wave.s[next] = next < dispatch.user_data.size() ? dispatch.user_data[next] : 0;
  }
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (rsrc2.workgroup_id(axis)) wave.s[next++] = id_[axis];
  }
  if (rsrc2.workgroup_info()) {
    wave.s[next++] = wave_count_ | index << 6 | (index == 0 ? 1u << 31 : 0);
  }
  if (rsrc2.scratch() && !dispatch.target->architected_flat_scratch) {
    wave.s[next++] = static_cast<uint32_t>(wave.scratch_base - dispatch.scratch_base);
  }
}

void Workgroup::set_initial_vgprs(Wave& wave, uint32_t first_item) {
  const Dispatch& dispatch = launch_->dispatch;
  const uint32_t components = Rsrc2(dispatch.rsrc2).work_item_id_components();
  for (uint32_t lane = 0; lane < launch_->lanes; ++lane) {
    const uint32_t item = first_item + lane;
    if (item >= items_) break;
    const uint32_t x = item % size_[0];
    const uint32_t y = components > 0 ? item / size_[0] % size_[1] : 0;
    const uint32_t z = components > 1 ? item / size_[0] / size_[1] : 0;
    LaneRegister* registers = wave.vgprs + lane / kHalfLanes * kVgprSlots;
    const uint32_t l = lane % kHalfLanes;
    if (dispatch.target->packed_workitem_ids) {
      registers[0].lane[l] = x | y << 10 | z << 20;
    } else {
      registers[0].lane[l] = x;
      if (components > 0) registers[1].lane[l] = y;
      if (components > 1) registers[2].lane[l] = z;
    }
  }
}

uint64_t Workgroup::run(uint64_t budget, uint64_t* executed_per_row) {
  uint64_t executed = 0;
  uint32_t idle_waves = 0;
  while (executed < budget && state_ == WorkgroupState::Running) {
    Wave& wave = *waves_[next_wave_];
    next_wave_ = next_wave_ + 1 == wave_count_ ? 0 : next_wave_ + 1;
    if (wave.stop != WaveStop::Yielded) {
      ++idle_waves;
      DOPPEL_ASSERT(idle_waves <= wave_count_, "a workgroup has no wave that can run");
      continue;
    }
    idle_waves = 0;
    if (launch_->code->version() != code_version_) follow_rewritten_code();
    executed += run_wave(wave, std::min(budget - executed, kWaveTurn), executed_per_row,
                         launch_->dispatch.probe);
    switch (wave.stop) {
      case WaveStop::Ended:
        ++ended_;
        break;
      case WaveStop::Barrier:
        ++at_barrier_;
        break;
      case WaveStop::Faulted:
        faulted_ = &wave;
        state_ = WorkgroupState::Faulted;
        break;
      case WaveStop::Yielded:
      case WaveStop::None:
        break;
    }
    release_barrier_if_complete();
    if (ended_ == wave_count_) state_ = WorkgroupState::Done;
  }
  return executed;
}

/// Waves go on with what stands at their next address now.
void Workgroup::follow_rewritten_code() {
  code_version_ = launch_->code->version();
  for (uint32_t i = 0; i < wave_count_; ++i) {
    Wave& wave = *waves_[i];
    if (wave.stop != WaveStop::Yielded && wave.stop != WaveStop::Barrier) continue;
    wave.resume = launch_->code->at(wave.resume->pc);
  }
}

/// Waves that ended no longer take part in barriers.
void Workgroup::release_barrier_if_complete() {
  if (at_barrier_ == 0 || at_barrier_ + ended_ != wave_count_) return;
  for (uint32_t i = 0; i < wave_count_; ++i) {
    if (waves_[i]->stop == WaveStop::Barrier) waves_[i]->stop = WaveStop::Yielded;
  }
  at_barrier_ = 0;
}

Wave* Workgroup::running_wave() {
  for (uint32_t i = 0; i < wave_count_; ++i) {
    if (waves_[i]->stop == WaveStop::Yielded) return waves_[i].get();
  }
  return nullptr;
}

}  // namespace doppel::emu
