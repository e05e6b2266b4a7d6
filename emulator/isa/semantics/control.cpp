#include "emulator/isa/semantics/control.h"

#include <fmt/format.h>

#include "emulator/isa/code_cache.h"
#include "emulator/isa/hardware_registers.h"

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

/// Ends the turn: Workgroup looks the waves' next instructions up again if code was rewritten.
const Inst* scalar_icache_inv(Wave& wave, const Inst* inst) {
  if (wave.code->refresh()) return wave.stop_at(emu::WaveStop::Yielded, inst + 1);
  emu::Fault fault;
  fault.kind = emu::FaultKind::UnsupportedInstruction;
  fault.message =
      fmt::format("The kernel rewrites its code too often ({} times).", wave.code->version());
  return wave.raise(inst, std::move(fault));
}

const Inst* scalar_setkill(Wave& wave, const Inst* inst) {
  return (inst->literal & 1) != 0 ? wave.stop_at(emu::WaveStop::Ended, inst) : inst + 1;
}
const Inst* scalar_sethalt(Wave& wave, const Inst* inst) {
  if ((inst->literal & 1) == 0) return inst + 1;
  emu::Fault fault;
  fault.kind = emu::FaultKind::Trap;
  fault.message = "The wave halts (S_SETHALT 1), and no debugger is there to resume it.";
  return wave.raise(inst, std::move(fault));
}
const Inst* scalar_rfe_b64(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::IllegalInstruction;
  fault.message = "The kernel returns from a trap handler (S_RFE_B64) without being in one.";
  return wave.raise(inst, std::move(fault));
}

namespace {

const Inst* raise_unsupported(Wave& wave, const Inst* inst, std::string message) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::UnsupportedInstruction;
  fault.message = std::move(message);
  return wave.raise(inst, std::move(fault));
}

const Inst* set_register(Wave& wave, const Inst* inst, uint32_t simm16, uint32_t value) {
  const auto reg = HardwareRegister::decode(simm16);
  const uint32_t mask = reg.mask() << reg.offset;
  const uint32_t old = read_hardware_register(wave, reg.id).value_or(0);
  if (write_hardware_register(wave, reg.id, (old & ~mask) | (value << reg.offset & mask))) {
    return inst + 1;
  }
  return raise_unsupported(
      wave, inst, fmt::format("The hardware register cannot be written (hwreg {}).", reg.id));
}

void set_mode_field(Wave& wave, uint32_t shift, uint32_t value) {
  write_hardware_register(wave, kHwRegMode,
                          (wave.mode.bits() & ~(15u << shift)) | (value & 15) << shift);
}

}  // namespace

const Inst* scalar_getreg_b32(Wave& wave, const Inst* inst) {
  const auto reg = HardwareRegister::decode(inst->literal);
  const std::optional<uint32_t> value = read_hardware_register(wave, reg.id);
  if (!value) {
    return raise_unsupported(
        wave, inst, fmt::format("The hardware register is not modelled (hwreg {}).", reg.id));
  }
  wave.s[inst->sdst] = *value >> reg.offset & reg.mask();
  return inst + 1;
}
const Inst* scalar_setreg_b32(Wave& wave, const Inst* inst) {
  return set_register(wave, inst, inst->literal, scalar_source<B32>(wave, *inst, 1));
}
const Inst* scalar_setreg_imm32_b32(Wave& wave, const Inst* inst) {
  return set_register(wave, inst, inst->literal, scalar_source<B32>(wave, *inst, 1));
}
const Inst* scalar_round_mode(Wave& wave, const Inst* inst) {
  set_mode_field(wave, 0, inst->literal);
  return inst + 1;
}
const Inst* scalar_denorm_mode(Wave& wave, const Inst* inst) {
  set_mode_field(wave, 4, inst->literal);
  return inst + 1;
}

namespace {

/// Messages that return a value: the counter, and addresses that a kernel without trap handler and
/// debugger finds to be 0.
const Inst* send_message(Wave& wave, const Inst* inst, uint32_t registers) {
  enum Message : uint32_t {
    kGetDoorbell = 128,
    kGetDdid = 129,
    kGetTma = 130,
    kGetRealtime = 131,
    kGetTba = 133,
    kGetTbaToPc = 134,
    kGetSeAaId = 135,
  };
  uint64_t value = 0;
  switch (inst->literal) {
    case kGetRealtime:
      value = gpu_ticks(wave.context->clock->now_ns());
      break;
    case kGetDoorbell:
    case kGetDdid:
    case kGetTma:
    case kGetTba:
    case kGetTbaToPc:
    case kGetSeAaId:
      break;
    default:
      return raise_unsupported(
          wave, inst, fmt::format("The message is not modelled (message {}).", inst->literal));
  }
  wave.s[inst->sdst] = static_cast<uint32_t>(value);
  if (registers == 2) wave.s[inst->sdst + 1] = static_cast<uint32_t>(value >> 32);
  return inst + 1;
}

/// SGPR numbers with M0 added; those beyond the registers fault.
bool check_sgprs(Wave& wave, const Inst* inst, uint32_t first, uint32_t count) {
  if (first < kSgprEnd && first + count <= kSgprEnd) return true;
  emu::Fault fault;
  fault.kind = emu::FaultKind::IllegalInstruction;
  fault.message = fmt::format("The indexed move reaches an SGPR beyond s105 (s{}).", first);
  wave.raise(inst, std::move(fault));
  return false;
}
uint32_t sgpr_of_source(const Inst* inst) {
  return static_cast<uint32_t>(inst->source[0] -
                               static_cast<int64_t>(offsetof(emu::WaveOperands, s))) /
         4;
}
const Inst* move_sgprs(Wave& wave, const Inst* inst, uint32_t to, uint32_t from, uint32_t count) {
  if (!check_sgprs(wave, inst, to, count) || !check_sgprs(wave, inst, from, count)) return nullptr;
  for (uint32_t i = 0; i < count; ++i) wave.s[to + i] = wave.s[from + i];
  return inst + 1;
}

}  // namespace

const Inst* scalar_sendmsg_rtn_b32(Wave& wave, const Inst* inst) {
  return send_message(wave, inst, 1);
}
const Inst* scalar_sendmsg_rtn_b64(Wave& wave, const Inst* inst) {
  return send_message(wave, inst, 2);
}

const Inst* scalar_movrels_b32(Wave& wave, const Inst* inst) {
  return move_sgprs(wave, inst, inst->sdst, sgpr_of_source(inst) + wave.s[kM0], 1);
}
const Inst* scalar_movrels_b64(Wave& wave, const Inst* inst) {
  return move_sgprs(wave, inst, inst->sdst, sgpr_of_source(inst) + wave.s[kM0], 2);
}
const Inst* scalar_movreld_b32(Wave& wave, const Inst* inst) {
  const uint32_t to = inst->sdst + wave.s[kM0];
  if (!check_sgprs(wave, inst, to, 1)) return nullptr;
  wave.s[to] = scalar_source<B32>(wave, *inst, 0);
  return inst + 1;
}
const Inst* scalar_movreld_b64(Wave& wave, const Inst* inst) {
  const uint32_t to = inst->sdst + wave.s[kM0];
  if (!check_sgprs(wave, inst, to, 2)) return nullptr;
  wave.set_pair(to, scalar_source<B64>(wave, *inst, 0));
  return inst + 1;
}
const Inst* scalar_movrelsd_2_b32(Wave& wave, const Inst* inst) {
  return move_sgprs(wave, inst, inst->sdst + (wave.s[kM0] >> 16 & 0x3ff),
                    sgpr_of_source(inst) + (wave.s[kM0] & 0x3ff), 1);
}

// Subvector loops run a wave64's halves one after the other: the low half first, with the high
// half of EXEC kept in SDST. In a wave32 there is one pass.

const Inst* scalar_subvector_loop_begin(Wave& wave, const Inst* inst) {
  if (wave.mask(kExecLo) == 0) return scalar_branch(wave, inst);
  if (!wave.wave64()) return inst + 1;
  if (wave.s[kExecLo] == 0) {
    wave.s[inst->sdst] = wave.s[kExecLo];
  } else {
    wave.s[inst->sdst] = wave.s[kExecHi];
    wave.s[kExecHi] = 0;
  }
  return inst + 1;
}
const Inst* scalar_subvector_loop_end(Wave& wave, const Inst* inst) {
  if (!wave.wave64()) return inst + 1;
  if (wave.s[kExecHi] != 0) {
    wave.s[kExecLo] = wave.s[inst->sdst];
    return inst + 1;
  }
  if (wave.s[inst->sdst] == 0) return inst + 1;
  wave.s[kExecHi] = wave.s[inst->sdst];
  wave.s[inst->sdst] = wave.s[kExecLo];
  wave.s[kExecLo] = 0;
  return scalar_branch(wave, inst);
}

DOPPEL_END_LEVEL
