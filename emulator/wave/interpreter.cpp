#include "emulator/wave/interpreter.h"

#include <immintrin.h>

#include "emulator/isa/fault_insts.h"
#include "emulator/wave/probe.h"

namespace doppel::emu {
namespace {

/// The host's MXCSR while waves run on this thread is the wave's.
class FloatEnvironment {
 public:
  explicit FloatEnvironment(const Wave& wave) : saved_(_mm_getcsr()) {
    _mm_setcsr(wave.mode.mxcsr32());
  }
  ~FloatEnvironment() { _mm_setcsr(saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  uint32_t saved_;
};

/// Executes `inst` and counts it, unless it faults.
const isa::Inst* execute_counted(Wave& wave, const isa::Inst* inst, uint64_t* executed_per_row) {
  if (isa::is_link(*inst)) inst = isa::behind_link(wave, inst);
  const isa::Inst* next = inst->handler(wave, inst);
  if (next == nullptr && wave.stop == WaveStop::Faulted) return next;
  ++executed_per_row[inst->row];
  if (inst->extra != nullptr && inst->extra->pair != nullptr) {
    ++executed_per_row[inst->extra->second_row];
  }
  return next;
}

uint64_t run_probed(Wave& wave, uint64_t budget, uint64_t* executed_per_row, WaveProbe& probe) {
  const isa::Inst* inst = wave.resume;
  wave.stop = WaveStop::None;
  for (uint64_t executed = 0; executed < budget; ++executed) {
    probe.before(wave, *inst);
    const isa::Inst* next = nullptr;
    {
      // The probe's own arithmetic is the host's.
      const FloatEnvironment environment(wave);
      next = executed_per_row == nullptr ? inst->handler(wave, inst)
                                         : execute_counted(wave, inst, executed_per_row);
    }
    probe.after(wave, *inst);
    if (next == nullptr) return executed + 1;
    inst = next;
  }
  wave.stop_at(WaveStop::Yielded, inst);
  return budget;
}

}  // namespace

uint64_t run_wave(Wave& wave, uint64_t budget, uint64_t* executed_per_row, WaveProbe* probe) {
  if (probe != nullptr) return run_probed(wave, budget, executed_per_row, *probe);
  const FloatEnvironment environment(wave);
  const isa::Inst* inst = wave.resume;
  uint64_t left = budget;
  wave.stop = WaveStop::None;
  if (executed_per_row == nullptr) {
    while (left != 0) {
      inst = inst->handler(wave, inst);
      --left;
      if (inst == nullptr) return budget - left;
    }
  } else {
    while (left != 0) {
      inst = execute_counted(wave, inst, executed_per_row);
      --left;
      if (inst == nullptr) return budget - left;
    }
  }
  wave.stop_at(WaveStop::Yielded, inst);
  return budget - left;
}

}  // namespace doppel::emu
