#include "emulator/isa/lower.h"

#include "emulator/isa/fault_insts.h"
#include "emulator/isa/lowering.h"

namespace doppel::isa {
namespace {

// Rows whose meaning for the flow of control lowering must know.
struct KnownRows {
  const Row* branch = find_row("s_branch");
  const Row* call = find_row("s_call_b64");
  std::array<const Row*, 6> stops = {find_row("s_endpgm"),     find_row("s_endpgm_saved"),
                                     find_row("s_code_end"),   find_row("s_setpc_b64"),
                                     find_row("s_swappc_b64"), find_row("s_rfe_b64")};
};
const KnownRows& known() {
  static const KnownRows rows;
  return rows;
}

}  // namespace

Lowering::Lowering(const Instruction& instruction, uint64_t pc, CodeCache& code, Inst& inst)
    : in_(instruction), row_(instruction.row), code_(code), inst_(inst) {
  inst_.pc = pc;
  inst_.dwords = instruction.dwords;
  inst_.row = static_cast<uint16_t>(index_of(*row_));
}

Flow Lowering::run() {
  const RowHandler& handler = handler_of(*row_);
  inst_.body = inst_.handler = handler.body;
  switch (row_->format) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPC:
    case Format::SOPK:
    case Format::SOPP:
      lower_scalar();
      break;
    case Format::SMEM:
      lower_smem();
      break;
    case Format::DS:
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH:
    case Format::MUBUF:
    case Format::MTBUF:
      lower_vector_memory(handler.scope);
      break;
    case Format::VOPD:
      lower_dual();
      break;
    default:
      lower_vector(handler.scope);
      break;
  }
  check_registers();
  return flow();
}

const RowHandler& Lowering::handler_of(const Row& row) const {
  static constexpr RowHandler kNone{};
  if (row.format == Format::VOPD) return kNone;
  return code_.handlers().rows[static_cast<size_t>(row.format)]
                              [static_cast<size_t>(&row - rows_of(row.format).data())];
}

/// The renumbering of NULL and M0 (see Code).
uint32_t Lowering::canonical(uint32_t code) const {
  if (in_.family != GfxFamily::Gfx10_3) return code;
  if (code == 124) return kM0;
  return code == 125 ? uint32_t{kNull} : code;
}

uint16_t Lowering::scalar_destination(uint32_t code) const {
  const uint32_t slot = canonical(code);
  const bool is_lost = slot == kNull || slot > kExecHi;  // to NULL, to what is no register
  return static_cast<uint16_t>(is_lost ? uint32_t{emu::kSinkSlot} : slot);
}

/// Special sources live in the Wave beside the registers.
std::optional<Place> Lowering::special_place(uint32_t code) {
  const auto in_wave = [](size_t offset) {
    return Place{static_cast<int64_t>(offset), Base::Wave};
  };
  switch (code) {
    case kScc:
      return in_wave(offsetof(emu::WaveOperands, scc));
    case kVccz:
      special_ = true;
      return in_wave(offsetof(emu::WaveOperands, vccz));
    case kExecz:
      special_ = true;
      return in_wave(offsetof(emu::WaveOperands, execz));
    case kSharedBase:
    case kSharedLimit:
    case kPrivateBase:
    case kPrivateLimit:
    case kPopsExitingWaveId:
      return in_wave(offsetof(emu::WaveOperands, apertures) +
                     (code - kSharedBase) * sizeof(uint64_t));
    default:
      return std::nullopt;
  }
}

void Lowering::use_vgprs(uint32_t first, uint32_t count) {
  if (count == 0) return;
  uses_vgprs_ = true;
  highest_vgpr_ = std::max(highest_vgpr_, first + count - 1);
}

void Lowering::use_sgprs(uint32_t first, uint32_t count) {
  if (first < kSgprEnd && first + count > kSgprEnd) bad_sgpr_ = true;
}

void Lowering::set_vdst(uint32_t index, OperandType type) {
  inst_.vdst = static_cast<uint32_t>(index * kRegisterBytes);
  use_vgprs(index, registers_of(type));
}

/// What the wave has not been given faults when (and only when) it is executed.
void Lowering::check_registers() {
  if (uses_vgprs_ && highest_vgpr_ >= code_.options().vgprs) {
    inst_.handler = &raise_vgpr_limit;
    inst_.literal = highest_vgpr_;
  } else if (bad_sgpr_) {
    inst_.handler = &raise_sgpr_limit;
  } else if (unsupported_source_) {
    inst_.handler = &raise_bad_source;
  } else if ((inst_.flags & (kGds | kTfe)) != 0) {
    inst_.handler = &raise_bad_modifier;
  }
}

Flow Lowering::flow() const {
  if (row_ == known().branch || row_ == known().call) return Flow::Jump;
  if (inst_.is_branch) return Flow::Branch;
  for (const Row* stop : known().stops) {
    if (row_ == stop) return Flow::Stop;
  }
  return Flow::Next;
}

Flow lower(const Instruction& instruction, uint64_t pc, CodeCache& code, Inst& inst) {
  return Lowering(instruction, pc, code, inst).run();
}

}  // namespace doppel::isa
