#include "emulator/wave/wave.h"

#include <fmt/format.h>

#include "emulator/dispatch/workgroup.h"
#include "emulator/isa/code_cache.h"
#include "emulator/isa/disassembler.h"

namespace doppel::emu {

const isa::Inst* Wave::raise(const isa::Inst* inst, Fault what, int lane) {
  WaveLocation location;
  location.pc = inst->pc;
  location.program = workgroup->program();
  location.workgroup = workgroup->id();
  location.wave = index;
  if (lane >= 0) location.lane = static_cast<uint32_t>(lane);
  location.disassembly = isa::disassemble_or_dwords(target->family, code->words_of(*inst));
  what.wave = std::move(location);
  fault = std::make_unique<Fault>(std::move(what));
  return stop_at(WaveStop::Faulted, inst);
}

}  // namespace doppel::emu
