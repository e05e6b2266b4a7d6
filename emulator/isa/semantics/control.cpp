#include "emulator/isa/semantics/control.h"

#include <fmt/format.h>

#include "emulator/isa/code_cache.h"

DOPPEL_BEGIN_LEVEL

namespace {

const Inst* branch_if(bool taken, const Wave& wave, const Inst* inst) {
  if (!taken) return inst + 1;
  return inst->target != nullptr
             ? inst->target
             : wave.code->at(
                   inst->next_pc() +
                   static_cast<uint64_t>(int64_t{static_cast<int32_t>(inst->literal)} * 4));
}

}  // namespace

const Inst* raise_unimplemented(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::UnsupportedInstruction;
  fault.message =
      fmt::format("The instruction is not implemented ({}).", all_rows()[inst->row].name);
  return wave.raise(inst, std::move(fault));
}

const Inst* scalar_nop(Wave&, const Inst* inst) {
  return inst + 1;
}
const Inst* scalar_endpgm(Wave& wave, const Inst* inst) {
  return wave.stop_at(emu::WaveStop::Ended, inst);
}
const Inst* scalar_branch(Wave& wave, const Inst* inst) {
  return branch_if(true, wave, inst);
}
const Inst* scalar_cbranch_scc0(Wave& wave, const Inst* inst) {
  return branch_if(wave.scc == 0, wave, inst);
}
const Inst* scalar_cbranch_scc1(Wave& wave, const Inst* inst) {
  return branch_if(wave.scc != 0, wave, inst);
}
const Inst* scalar_cbranch_vccz(Wave& wave, const Inst* inst) {
  return branch_if(wave.mask(kVccLo) == 0, wave, inst);
}
const Inst* scalar_cbranch_vccnz(Wave& wave, const Inst* inst) {
  return branch_if(wave.mask(kVccLo) != 0, wave, inst);
}
const Inst* scalar_cbranch_execz(Wave& wave, const Inst* inst) {
  return branch_if(wave.mask(kExecLo) == 0, wave, inst);
}
const Inst* scalar_cbranch_execnz(Wave& wave, const Inst* inst) {
  return branch_if(wave.mask(kExecLo) != 0, wave, inst);
}
const Inst* scalar_barrier(Wave& wave, const Inst* inst) {
  return wave.stop_at(emu::WaveStop::Barrier, inst + 1);
}
const Inst* scalar_sleep(Wave& wave, const Inst* inst) {
  return wave.stop_at(emu::WaveStop::Yielded, inst + 1);
}

/// Messages that only tell the hardware something (MSG_DEALLOC_VGPRS, MSG_INTERRUPT...) do nothing
/// here; registers freed by DEALLOC_VGPRS stay readable, which a correct program cannot see.
const Inst* scalar_sendmsg(Wave&, const Inst* inst) {
  return inst + 1;
}

const Inst* scalar_getpc_b64(Wave& wave, const Inst* inst) {
  wave.set_pair(inst->sdst, inst->next_pc());
  return inst + 1;
}
const Inst* scalar_setpc_b64(Wave& wave, const Inst* inst) {
  return wave.code->at(scalar_source<B64>(wave, *inst, 0) & ~uint64_t{3});
}
const Inst* scalar_swappc_b64(Wave& wave, const Inst* inst) {
  const uint64_t target = scalar_source<B64>(wave, *inst, 0) & ~uint64_t{3};
  wave.set_pair(inst->sdst, inst->next_pc());
  return wave.code->at(target);
}
const Inst* scalar_call_b64(Wave& wave, const Inst* inst) {
  wave.set_pair(inst->sdst, inst->next_pc());
  return branch_if(true, wave, inst);
}

const Inst* scalar_trap(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::Trap;
  fault.message = fmt::format("The kernel executes S_TRAP (id {}).", inst->literal & 0xff);
  return wave.raise(inst, std::move(fault));
}
const Inst* scalar_code_end(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::IllegalInstruction;
  fault.message = "The kernel runs past its end (S_CODE_END).";
  return wave.raise(inst, std::move(fault));
}

DOPPEL_END_LEVEL
