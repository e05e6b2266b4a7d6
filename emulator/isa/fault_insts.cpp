#include "emulator/isa/fault_insts.h"

#include <fmt/format.h>

#include "emulator/isa/code_cache.h"
#include "emulator/wave/wave.h"

namespace doppel::isa {

using emu::Wave;

namespace {

const Inst* raise_illegal(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::IllegalInstruction;
  fault.message = fmt::format("The instruction does not decode on {} (dword {:#010x}).",
                              wave.target->name, inst->literal);
  return wave.raise(inst, std::move(fault));
}

const Inst* raise_unfetchable(Wave& wave, const Inst* inst) {
  const emu::MemoryFault memory = wave.context->vm->fault_at(inst->pc, 4, emu::Access::Execute);
  emu::Fault fault;
  fault.kind = memory.kind;
  fault.message = fmt::format("The wave runs into memory it cannot execute (pc {:#x}).", inst->pc);
  fault.address = inst->pc;
  fault.access_size = 4;
  fault.nearest_allocation = memory.nearest;
  return wave.raise(inst, std::move(fault));
}

const Inst* follow_link(Wave& wave, const Inst* inst) {
  const Inst* target = behind_link(wave, inst);
  return target->handler(wave, target);
}

}  // namespace

const Inst* raise_vgpr_limit(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::IllegalInstruction;
  fault.message =
      fmt::format("The instruction uses a VGPR beyond the allocation (v{}, {} are allocated).",
                  inst->literal, wave.vgpr_limit);
  return wave.raise(inst, std::move(fault));
}

const Inst* raise_sgpr_limit(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::IllegalInstruction;
  fault.message = "The instruction uses SGPRs beyond s105.";
  return wave.raise(inst, std::move(fault));
}

const Inst* raise_bad_source(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::UnsupportedInstruction;
  fault.message = "The instruction has a source operand that is not modelled.";
  return wave.raise(inst, std::move(fault));
}

void lower_illegal(uint64_t pc, uint32_t word, Inst& inst) {
  inst.pc = pc;
  inst.literal = word;
  inst.handler = &raise_illegal;
}

void lower_unfetchable(uint64_t pc, Inst& inst) {
  inst.pc = pc;
  inst.handler = &raise_unfetchable;
}

void lower_link(uint64_t pc, Inst& inst) {
  inst.pc = pc;
  inst.dwords = 0;
  inst.handler = &follow_link;
}

bool is_link(const Inst& inst) {
  return inst.handler == &follow_link;
}

const Inst* behind_link(Wave& wave, const Inst* link) {
  return link->target != nullptr ? link->target : wave.code->at(link->pc);
}

}  // namespace doppel::isa
