// Workgroup: the waves of one workgroup, their LDS and barrier. Owned by one worker of a
// Dispatcher; reused from workgroup to workgroup. Waves run round-robin, each until it waits, ends
// or has used up its turn, always in the same order.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/dispatch/dispatch.h"
#include "emulator/isa/code_cache.h"
#include "emulator/wave/wave.h"

namespace doppel::emu {

/// What all workgroups of a dispatch share.
struct Launch {
  Dispatch dispatch;
  isa::CodeCache* code = nullptr;
  const isa::Inst* entry = nullptr;
  uint32_t lanes = 32;
  uint32_t vgprs = 0;               // allocated per lane
  uint32_t waves = 0;               // of a full workgroup
  uint32_t scratch_slots_used = 0;  // ring slots a worker's workgroup takes
  Mode mode;

  uint64_t workgroups() const {
    return uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
  }
};

enum class WorkgroupState : uint8_t { Running, Done, Faulted };

class Workgroup {
 public:
  /// Sets the `linear`th workgroup of the grid up (x fastest). Its private memory begins at ring
  /// slot `first_scratch_slot`.
  void launch(const Launch& launch, uint64_t linear, uint32_t first_scratch_slot,
              ExecutionContext& context);

  /// Executes about `budget` instructions; returns how many.
  uint64_t run(uint64_t budget, uint64_t* executed_per_row);

  WorkgroupState state() const { return state_; }
  uint64_t linear() const { return linear_; }
  uint32_t wave_count() const { return wave_count_; }
  const std::array<uint32_t, 3>& id() const { return id_; }
  uint64_t program() const { return launch_->dispatch.program; }
  /// The fault of the wave that stopped the workgroup.
  const Fault& fault() const { return *faulted_->fault; }
  /// A wave that still runs; for the location of a budget fault.
  Wave* running_wave();

 private:
  void reset_wave(Wave& wave, uint32_t index, ExecutionContext& context);
  void set_initial_sgprs(Wave& wave, uint32_t index);
  void set_initial_vgprs(Wave& wave, uint32_t first_item);
  void release_barrier_if_complete();
  void follow_rewritten_code();

  const Launch* launch_ = nullptr;
  uint64_t linear_ = 0;
  std::array<uint32_t, 3> id_{};
  std::array<uint32_t, 3> size_{};  // work-items, smaller at the grid's edge
  uint32_t items_ = 0;
  uint32_t wave_count_ = 0;
  uint32_t next_wave_ = 0;
  uint32_t ended_ = 0;
  uint32_t at_barrier_ = 0;
  uint32_t first_scratch_slot_ = 0;
  uint32_t code_version_ = 0;
  WorkgroupState state_ = WorkgroupState::Done;
  Wave* faulted_ = nullptr;
  std::vector<std::unique_ptr<Wave>> waves_;
  std::vector<LaneRegister> registers_;
  std::vector<std::byte> lds_;
};

}  // namespace doppel::emu
