#include "emulator/isa/fault_insts.h"

#include <fmt/format.h>

#include "emulator/isa/code_cache.h"
#include "emulator/wave/wave.h"

namespace doppel::isa {

using emu::Wave;

namespace {

/// Encodings that no compute kernel without images has: bits 31:26, or 31:24, of the first dword
/// (RDNA 2 and RDNA 3 ISA guides, "microcode formats").
struct GraphicsEncoding {
  GfxFamily family;
  uint32_t bits, shift;
  std::string_view name;
};
constexpr GraphicsEncoding kGraphicsEncodings[] = {
    {GfxFamily::Gfx10_3, 0x3c, 26, "an image instruction (MIMG)"},
    {GfxFamily::Gfx10_3, 0x3e, 26, "an export (EXP)"},
    {GfxFamily::Gfx10_3, 0x32, 26, "a parameter interpolation (VINTRP)"},
    {GfxFamily::Gfx11, 0x3c, 26, "an image instruction (MIMG)"},
    {GfxFamily::Gfx11, 0x3e, 26, "an export (EXP)"},
    {GfxFamily::Gfx11, 0xce, 24, "a load of parameters or from LDS (LDSDIR)"},
};

const Inst* raise_graphics(Wave& wave, const Inst* inst, const GraphicsEncoding& encoding) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::UnsupportedInstruction;
  fault.message =
      fmt::format("The instruction is {}, which the emulator does not carry out (dword {:#010x}).",
                  encoding.name, inst->literal);
  return wave.raise(inst, std::move(fault));
}

const Inst* raise_illegal(Wave& wave, const Inst* inst) {
  const GfxFamily family =
      wave.target->family == GfxFamily::Gfx11_5 ? GfxFamily::Gfx11 : wave.target->family;
  for (const GraphicsEncoding& encoding : kGraphicsEncodings) {
    if (encoding.family == family && inst->literal >> encoding.shift == encoding.bits) {
      return raise_graphics(wave, inst, encoding);
    }
  }
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
  fault.is_fetch = true;
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

const Inst* raise_bad_modifier(Wave& wave, const Inst* inst) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::UnsupportedInstruction;
  const char* name = inst->flags & kGds ? "GDS" : "TFE";
  fault.message = fmt::format("The instruction has a modifier that is not modelled ({}).", name);
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
