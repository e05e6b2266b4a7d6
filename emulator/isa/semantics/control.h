// Control flow, waits, messages, barriers and hardware registers: handlers that move the wave
// rather than compute.
#pragma once

#include "emulator/isa/semantics/scalar.h"

DOPPEL_BEGIN_LEVEL

const Inst* scalar_nop(Wave& wave, const Inst* inst);
const Inst* scalar_endpgm(Wave& wave, const Inst* inst);
const Inst* scalar_branch(Wave& wave, const Inst* inst);
const Inst* scalar_cbranch_scc0(Wave& wave, const Inst* inst);
const Inst* scalar_cbranch_scc1(Wave& wave, const Inst* inst);
const Inst* scalar_cbranch_vccz(Wave& wave, const Inst* inst);
const Inst* scalar_cbranch_vccnz(Wave& wave, const Inst* inst);
const Inst* scalar_cbranch_execz(Wave& wave, const Inst* inst);
const Inst* scalar_cbranch_execnz(Wave& wave, const Inst* inst);
const Inst* scalar_barrier(Wave& wave, const Inst* inst);
const Inst* scalar_sleep(Wave& wave, const Inst* inst);
const Inst* scalar_sendmsg(Wave& wave, const Inst* inst);
const Inst* scalar_getpc_b64(Wave& wave, const Inst* inst);
const Inst* scalar_setpc_b64(Wave& wave, const Inst* inst);
const Inst* scalar_swappc_b64(Wave& wave, const Inst* inst);
const Inst* scalar_call_b64(Wave& wave, const Inst* inst);
const Inst* scalar_trap(Wave& wave, const Inst* inst);
const Inst* scalar_code_end(Wave& wave, const Inst* inst);
const Inst* scalar_icache_inv(Wave& wave, const Inst* inst);
const Inst* scalar_setkill(Wave& wave, const Inst* inst);
const Inst* scalar_sethalt(Wave& wave, const Inst* inst);
const Inst* scalar_rfe_b64(Wave& wave, const Inst* inst);
const Inst* scalar_getreg_b32(Wave& wave, const Inst* inst);
const Inst* scalar_setreg_b32(Wave& wave, const Inst* inst);
const Inst* scalar_setreg_imm32_b32(Wave& wave, const Inst* inst);
const Inst* scalar_round_mode(Wave& wave, const Inst* inst);
const Inst* scalar_denorm_mode(Wave& wave, const Inst* inst);
const Inst* scalar_sendmsg_rtn_b32(Wave& wave, const Inst* inst);
const Inst* scalar_sendmsg_rtn_b64(Wave& wave, const Inst* inst);
const Inst* scalar_movrels_b32(Wave& wave, const Inst* inst);
const Inst* scalar_movrels_b64(Wave& wave, const Inst* inst);
const Inst* scalar_movreld_b32(Wave& wave, const Inst* inst);
const Inst* scalar_movreld_b64(Wave& wave, const Inst* inst);
const Inst* scalar_movrelsd_2_b32(Wave& wave, const Inst* inst);
const Inst* scalar_subvector_loop_begin(Wave& wave, const Inst* inst);
const Inst* scalar_subvector_loop_end(Wave& wave, const Inst* inst);

DOPPEL_END_LEVEL
