#include "emulator/isa/lower.h"

#include <fmt/format.h>

#include "core/assert.h"
#include "emulator/isa/fault_insts.h"
#include "emulator/wave/wave.h"

namespace doppel::isa {
namespace {

using emu::Wave;

constexpr int64_t kRegisterBytes = sizeof(emu::LaneRegister);
constexpr std::array kSourceFields = {Field::Src0, Field::Src1, Field::Src2};

// Rows whose meaning for the flow of control lowering must know.
struct KnownRows {
  const Row* branch = find_row("s_branch");
  const Row* call = find_row("s_call_b64");
  const Row* endpgm = find_row("s_endpgm");
  const Row* endpgm_saved = find_row("s_endpgm_saved");
  const Row* code_end = find_row("s_code_end");
  const Row* setpc = find_row("s_setpc_b64");
  const Row* swappc = find_row("s_swappc_b64");
  const Row* rfe = find_row("s_rfe_b64");
};
const KnownRows& known() {
  static const KnownRows rows;
  return rows;
}

/// The renumbering of NULL and M0 (see Code).
uint32_t canonical_scalar(uint32_t code, GfxFamily family) {
  if (family != GfxFamily::Gfx10_3) return code;
  if (code == 124) return kM0;
  return code == 125 ? uint32_t{kNull} : code;
}

uint16_t scalar_destination(uint32_t code, GfxFamily family) {
  const uint32_t canonical = canonical_scalar(code, family);
  return static_cast<uint16_t>(canonical == kNull ? uint32_t{emu::kSinkSlot} : canonical);
}

struct Place {
  int64_t offset = 0;
  Base base = Base::Absolute;
};

Place scalar_place(uint32_t slot) {
  return {static_cast<int64_t>(offsetof(Wave, s) + slot * 4), Base::Wave};
}

/// Special sources live in the Wave beside the registers.
std::optional<Place> special_place(uint32_t code) {
  const auto in_wave = [](size_t offset) {
    return Place{static_cast<int64_t>(offset), Base::Wave};
  };
  switch (code) {
    case kScc:
      return in_wave(offsetof(Wave, scc));
    case kVccz:
      return in_wave(offsetof(Wave, vccz));
    case kExecz:
      return in_wave(offsetof(Wave, execz));
    case kSharedBase:
    case kSharedLimit:
    case kPrivateBase:
    case kPrivateLimit:
    case kPopsExitingWaveId:
      return in_wave(offsetof(Wave, apertures) + (code - kSharedBase) * 8);
    default:
      return std::nullopt;
  }
}

class Lowering {
 public:
  Lowering(const Instruction& instruction, uint64_t pc, CodeCache& code, Inst& inst)
      : in_(instruction), row_(*instruction.row), code_(code), inst_(inst) {
    inst_.pc = pc;
    inst_.dwords = instruction.dwords;
    inst_.row = static_cast<uint16_t>(index_of(row_));
  }

  Flow run() {
    const RowHandler& handler = handler_of(row_);
    inst_.body = inst_.handler = handler.body;
    switch (row_.format) {
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
        lower_vector_memory();
        if (code_.options().wave64 && handler.scope == Scope::Lanes) {
          inst_.handler = code_.handlers().halves;
        }
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

  void lower_half_of_dual(const Row& row, uint32_t vdst, uint32_t src0, uint32_t vsrc1) {
    const RowHandler& handler = handler_of(row);
    inst_.body = inst_.handler = handler.body;
    inst_.row = static_cast<uint16_t>(index_of(row));
    set_vdst(vdst, row.dst);
    std::array<uint32_t, 3> codes{src0, vsrc1 + kVgpr0, vdst + kVgpr0};
    place_literal_sources(row, codes);
    for (uint32_t i = 0; i < row.sources(); ++i) {
      if (row.src[i] != OperandType::Mask) set_vector_source(i, codes[i], row.src[i], 0, 0);
    }
    finish_vector(handler.scope);
  }

 private:
  const RowHandler& handler_of(const Row& row) const {
    const auto table = code_.handlers().rows[static_cast<size_t>(row.format)];
    static constexpr RowHandler kNone{};
    if (row.format == Format::VOPD) return kNone;
    return table[static_cast<size_t>(&row - rows_of(row.format).data())];
  }

  uint32_t canonical(uint32_t code) const { return canonical_scalar(code, in_.family); }
  uint32_t vgprs_needed() const { return highest_vgpr_ + 1; }

  void use_vgprs(uint32_t first, uint32_t count) {
    if (count == 0) return;
    const uint32_t last = first + count - 1;
    uses_vgprs_ = true;
    if (last > highest_vgpr_) highest_vgpr_ = last;
  }

  void use_sgprs(uint32_t first, uint32_t count) {
    if (first < kSgprEnd && first + count > kSgprEnd) bad_sgpr_ = true;
  }

  void set_vdst(uint32_t index, OperandType type) {
    inst_.vdst = static_cast<uint32_t>(index * kRegisterBytes);
    use_vgprs(index, registers_of(type));
  }

  // Scalar formats.

  void lower_scalar() {
    if (in_.encoding->has(Field::Dst) && row_.dst != OperandType::None) {
      inst_.sdst = scalar_destination(in_.field(Field::Dst), in_.family);
      use_sgprs(inst_.sdst, registers_of(row_.dst));
    }
    if (in_.encoding->has(Field::Simm16)) set_immediate();
    uint32_t encoded = 0;
    bool special = false;
    for (uint32_t i = 0; i < row_.sources(); ++i) {
      if (info(row_.src[i]).kind == OperandKind::Immediate) {
        if (row_.format == Format::SOP1) inst_.literal = in_.field(Field::Src0);
        continue;
      }
      const std::optional<uint32_t> code = scalar_source_code(i, encoded);
      special |= set_scalar_source(i, code, row_.src[i]);
    }
    if (special) inst_.handler = code_.handlers().refresh_special;
  }

  void set_immediate() {
    const uint32_t raw = in_.field(Field::Simm16);
    bool is_signed = false;
    for (OperandType type : row_.src) {
      is_signed |= type == OperandType::SImm16 || type == OperandType::Label;
    }
    inst_.literal = is_signed ? static_cast<uint32_t>(static_cast<int16_t>(raw)) : raw;
    inst_.is_branch = row_.src[0] == OperandType::Label && row_.format == Format::SOPP;
    inst_.is_branch |= &row_ == known().call;
  }

  /// The operand code of source `i`, or nullopt for a literal that the row demands.
  std::optional<uint32_t> scalar_source_code(uint32_t i, uint32_t& encoded) const {
    if (row_.format == Format::SOPK) {
      if (row_.has(KAdd)) return std::nullopt;
      return in_.field(Field::Dst);
    }
    if ((row_.has(KMul) && i == 1) || (row_.has(KAdd) && i == 2)) return std::nullopt;
    const Field field = kSourceFields[encoded];
    if (encoded < 2 && in_.encoding->has(field)) {
      ++encoded;
      return in_.field(field);
    }
    return in_.field(Field::Dst);  // ReadsDst, Acc
  }

  /// True if the source has to be refreshed before it is read.
  bool set_scalar_source(uint32_t i, std::optional<uint32_t> code, OperandType type) {
    Place place;
    if (!code || *code == kLiteral) {
      place = constant_place(literal_constant(in_.literal(), type));
    } else if (is_inline_constant(*code)) {
      place = constant_place(inline_constant(*code, type));
    } else if (const auto special = special_place(*code)) {
      place = *special;
    } else {
      const uint32_t slot = canonical(*code);
      place = scalar_place(slot);
      use_sgprs(slot, registers_of(type));
      unsupported_source_ |= slot > kExecHi;
    }
    inst_.source[i] = place.offset;
    inst_.base[i] = place.base;
    return code == kVccz || code == kExecz;
  }

  Place constant_place(uint64_t bits) {
    // The first lane of the broadcast is the scalar; a 64-bit scalar needs its halves adjacent.
    return {reinterpret_cast<int64_t>(code_.scalar_constant(bits)), Base::Absolute};
  }

  void lower_smem() {
    inst_.sdst = static_cast<uint16_t>(in_.field(Field::Dst));
    use_sgprs(inst_.sdst, registers_of(row_.dst));
    if (row_.dst != OperandType::None && canonical(inst_.sdst) == kNull)
      inst_.sdst = emu::kSinkSlot;
    inst_.saddr = static_cast<uint16_t>(in_.field(Field::Sbase) * 2);
    const uint32_t soffset = canonical(in_.field(Field::Soffset));
    inst_.soffset = static_cast<uint16_t>(soffset);
    const auto offset = in_.field(Field::Offset);
    inst_.literal = static_cast<uint32_t>(static_cast<int32_t>(offset << 11) >> 11);  // 21 bits
    inst_.site = code_.new_site();
    set_cache_flags();
  }

  void set_cache_flags() {
    const std::array<std::pair<Field, uint16_t>, 8> kFlags = {{{Field::Glc, kGlc},
                                                               {Field::Slc, kSlc},
                                                               {Field::Dlc, kDlc},
                                                               {Field::Tfe, kTfe},
                                                               {Field::Idxen, kIdxen},
                                                               {Field::Offen, kOffen},
                                                               {Field::Lds, kLds},
                                                               {Field::Gds, kGds}}};
    for (const auto& [field, flag] : kFlags) {
      if (in_.field(field) != 0) inst_.flags |= flag;
    }
  }

  void lower_vector_memory() {
    set_cache_flags();
    inst_.site = code_.new_site();
    set_vdst(in_.encoding->has(Field::Dst) ? in_.field(Field::Dst) : in_.field(Field::Data),
             row_.dst);
    inst_.address = static_cast<uint16_t>(in_.field(Field::Addr));
    inst_.data = static_cast<uint16_t>(in_.field(Field::Data));
    inst_.data1 = static_cast<uint16_t>(in_.field(Field::Data1));
    use_vgprs(inst_.data, registers_of(row_.src[0]));
    use_vgprs(inst_.data1, registers_of(row_.src[1]));
    switch (row_.format) {
      case Format::DS:
        inst_.literal = in_.field(Field::Offset) | in_.field(Field::Offset1) << 8;
        use_vgprs(inst_.address, 1);
        break;
      case Format::MUBUF:
      case Format::MTBUF:
        lower_buffer();
        break;
      default:
        lower_flat();
        break;
    }
  }

  void lower_buffer() {
    inst_.literal = in_.field(Field::Offset);
    inst_.saddr = static_cast<uint16_t>(in_.field(Field::Srsrc) * 4);
    set_scalar_source(0, in_.field(Field::Soffset), OperandType::B32);
    if (row_.format == Format::MTBUF) {
      inst_.data1 = static_cast<uint16_t>(in_.field(Field::BufferFormat));
    }
    const uint32_t address_registers =
        ((inst_.flags & kIdxen) != 0) + ((inst_.flags & kOffen) != 0);
    use_vgprs(inst_.address, address_registers);
  }

  void lower_flat() {
    const BitRange offset = (*in_.encoding)[Field::Offset];
    const uint32_t unused = 32u - offset.width;
    const uint32_t raw = in_.field(Field::Offset) << unused;
    // FLAT offsets are unsigned on gfx10.3 (11 bits used) and gfx11; the others are signed.
    inst_.literal = row_.format == Format::FLAT
                        ? raw >> unused
                        : static_cast<uint32_t>(static_cast<int32_t>(raw) >> unused);
    const uint32_t saddr = in_.field(Field::Saddr);
    const bool scalar_base =
        canonical(saddr) != kNull && saddr != 0x7f && row_.format != Format::FLAT;
    inst_.saddr = static_cast<uint16_t>(scalar_base ? canonical(saddr) : uint32_t{kNull});
    const bool vaddr = row_.format != Format::SCRATCH || in_.field(Field::Sve) != 0 ||
                       (in_.family == GfxFamily::Gfx10_3 && !scalar_base && saddr != 0x7f);
    if (vaddr) {
      inst_.flags |= kVaddr;
      const bool wide =
          row_.format == Format::FLAT || (row_.format == Format::GLOBAL && !scalar_base);
      use_vgprs(inst_.address, wide ? 2 : 1);
    }
  }

  // Vector ALU.

  void place_literal_sources(const Row& row, std::array<uint32_t, 3>& codes) const {
    if (row.has(KMul)) {
      codes[2] = codes[1];
      codes[1] = kLiteral;
    } else if (row.has(KAdd)) {
      codes[2] = kLiteral;
    }
  }

  void lower_vector(Scope scope) {
    const bool wide = in_.encoding->words == 2;
    const Format format = in_.format();
    set_vector_destination(format);
    std::array<uint32_t, 3> codes{in_.field(Field::Src0), in_.field(Field::Src1),
                                  in_.field(Field::Src2)};
    if (!wide) codes[1] += kVgpr0;
    if (row_.has(Acc)) codes[2] = in_.field(Field::Dst) + kVgpr0;
    place_literal_sources(row_, codes);
    if (in_.modifier != Modifier::None) lower_modifier(codes);
    if (row_.has(CarryIn)) set_mask_source(codes);
    const uint32_t neg = in_.modifier == Modifier::None ? in_.field(Field::Neg) : neg_;
    const uint32_t abs = in_.modifier == Modifier::None ? in_.field(Field::Abs) : abs_;
    for (uint32_t i = 0; i < row_.sources(); ++i) {
      if (row_.src[i] == OperandType::Mask) continue;
      set_vector_source(i, codes[i], row_.src[i], neg >> i & 1, abs >> i & 1);
    }
    set_halves();
    inst_.out.omod = static_cast<uint8_t>(in_.field(Field::Omod));
    inst_.out.clamp = in_.field(Field::Clamp) != 0;
    finish_vector(scope);
  }

  void set_vector_destination(Format format) {
    if (row_.dst == OperandType::Mask) {
      inst_.sdst = in_.wide() ? scalar_destination(in_.field(Field::Dst), in_.family)
                              : static_cast<uint16_t>(kVccLo);
    } else if (row_.dst == OperandType::Sgpr) {
      inst_.sdst = scalar_destination(in_.field(Field::Dst), in_.family);
    } else if (row_.dst != OperandType::None) {
      set_vdst(in_.field(Field::Dst), row_.dst);
    }
    if (row_.has(CarryOut)) {
      inst_.sdst = format == Format::VOP3SD ? scalar_destination(in_.field(Field::Sdst), in_.family)
                                            : static_cast<uint16_t>(kVccLo);
    }
  }

  void set_mask_source(const std::array<uint32_t, 3>& codes) {
    inst_.smask = kVccLo;
    if (in_.encoding->words == 1) return;
    const uint32_t code = canonical(codes[2]);
    unsupported_source_ |= !is_scalar_register(code);
    inst_.smask = static_cast<uint16_t>(code & 0x7f);
  }

  /// OP_SEL chooses halves of 16-bit operands; of packed ones, with OP_SEL_HI, both.
  void set_halves() {
    if (!in_.encoding->has(Field::OpSel)) return;
    const uint32_t op_sel = in_.field(Field::OpSel);
    if (in_.format() == Format::VOP3P) {
      const uint32_t op_sel_hi = in_.field(Field::OpSelHi) | in_.field(Field::OpSelHi2) << 2;
      extra().op_sel = static_cast<uint8_t>(op_sel);
      extra().op_sel_hi = static_cast<uint8_t>(op_sel_hi);
      extra().neg = static_cast<uint8_t>(in_.field(Field::Neg));
      extra().neg_hi = static_cast<uint8_t>(in_.field(Field::NegHi));
      for (uint32_t i = 0; i < row_.sources(); ++i) set_packed(i, op_sel, op_sel_hi);
      return;
    }
    extra().op_sel = static_cast<uint8_t>(op_sel);
    for (uint32_t i = 0; i < row_.sources(); ++i) {
      if ((op_sel >> i & 1) != 0 && is_16bit(row_.src[i])) require_stage(i).low_half = 1;
    }
    inst_.out.high_half = (op_sel & 8) != 0 && is_16bit(row_.dst);
  }

  static bool is_16bit(OperandType type) {
    return type == OperandType::F16 || type == OperandType::B16 || type == OperandType::I16 ||
           type == OperandType::U16 || type == OperandType::BF16;
  }
  static bool is_packed_16bit(OperandType type) {
    return type == OperandType::Pk2F16 || type == OperandType::Pk2BF16 ||
           type == OperandType::Pk2I16 || type == OperandType::Pk2U16;
  }

  void set_packed(uint32_t i, uint32_t op_sel, uint32_t op_sel_hi) {
    if (!is_packed_16bit(row_.src[i])) return;
    const uint32_t low = op_sel >> i & 1, high = op_sel_hi >> i & 1;
    uint32_t flip = 0;
    if (info(row_.src[i]).kind == OperandKind::PackedFloat) {
      if ((in_.field(Field::Neg) >> i & 1) != 0) flip |= 0x8000;
      if ((in_.field(Field::NegHi) >> i & 1) != 0) flip |= 0x80000000;
    }
    if (low == 0 && high == 1 && flip == 0) return;
    SourceStage& stage = require_stage(i);
    stage.low_half = static_cast<uint8_t>(low);
    stage.high_half = static_cast<uint8_t>(high);
    stage.xor_mask = flip;
  }

  void lower_modifier(std::array<uint32_t, 3>& codes);
  uint32_t neg_ = 0, abs_ = 0;

  void set_vector_source(uint32_t i, uint32_t code, OperandType type, bool neg, bool abs) {
    const uint32_t count = registers_of(type);
    Place place;
    Stage how = Stage::Raw;
    if (is_vgpr(code)) {
      place = {(code - kVgpr0) * kRegisterBytes, Base::Vgpr};
      use_vgprs(code - kVgpr0, count);
      inst_.destination_is_source |= overlaps_destination(code - kVgpr0, count);
    } else if (code == kLiteral) {
      place = lanes_constant(literal_constant(in_.literal(), type), count);
    } else if (is_inline_constant(code)) {
      place = lanes_constant(inline_constant(code, type), count);
    } else {
      how = Stage::Broadcast;
      if (const auto special = special_place(code)) {
        place = *special;
        special_ |= code == kVccz || code == kExecz;
      } else {
        const uint32_t slot = canonical(code);
        unsupported_source_ |= slot > kExecHi;
        place = scalar_place(slot & 0x7f);
        use_sgprs(slot, count);
      }
    }
    inst_.source[i] = place.offset;
    inst_.base[i] = place.base;
    if (how == Stage::Raw && !neg && !abs) return;
    if (how == Stage::Broadcast || has_sign(type)) {
      SourceStage& stage = require_stage(i);
      stage.how = how == Stage::Broadcast ? how : stage.how;
      stage.registers = static_cast<uint8_t>(std::min<uint32_t>(count, emu::kStagedRegisters));
      const uint32_t sign = sign_bit(type);
      if (has_sign(type) && abs) stage.and_mask = ~sign;
      if (has_sign(type) && neg) stage.xor_mask = sign;
    }
  }

  static bool has_sign(OperandType type) {
    return info(type).kind == OperandKind::Float || type == OperandType::B32 ||
           type == OperandType::B16;
  }
  static uint32_t sign_bit(OperandType type) { return is_16bit(type) ? 0x8000u : 0x80000000u; }

  bool overlaps_destination(uint32_t first, uint32_t count) const {
    const auto dst = static_cast<uint32_t>(inst_.vdst / kRegisterBytes);
    const uint32_t dst_count =
        info(row_.dst).kind == OperandKind::Mask ? 0 : registers_of(row_.dst);
    return first < dst + dst_count && dst < first + count;
  }

  Place lanes_constant(uint64_t bits, uint32_t count) {
    return {reinterpret_cast<int64_t>(code_.constant(bits, count)), Base::Absolute};
  }

  /// Redirects source `i` to its staged copy.
  SourceStage& require_stage(uint32_t i) {
    SourceStage& stage = extra().stages[i];
    if (stage.how == Stage::Raw) {
      stage.how = Stage::Lanes;
      stage.offset = inst_.source[i];
      stage.base = inst_.base[i];
      stage.registers = static_cast<uint8_t>(registers_of(row_of_inst().src[i]));
      inst_.source[i] = static_cast<int64_t>(offsetof(Wave, staged) + i * sizeof(Wave::staged[0]));
      inst_.base[i] = Base::Wave;
      staged_ = true;
    }
    return stage;
  }

  const Row& row_of_inst() const { return all_rows()[inst_.row]; }

  InstExtra& extra() {
    if (extra_ == nullptr) {
      extra_ = &code_.new_extra();
      inst_.extra = extra_;
    }
    return *extra_;
  }

  void finish_vector(Scope scope) {
    const bool wave64 = code_.options().wave64;
    if (staged_) {
      inst_.handler = wave64 && scope == Scope::Lanes ? code_.handlers().prepared64
                                                      : code_.handlers().prepared32;
    } else if (wave64 && scope == Scope::Lanes) {
      inst_.handler = code_.handlers().halves;
    }
  }

  // VOPD.

  void lower_dual();

  void check_registers();

  Flow flow() const {
    if (&row_ == known().branch || &row_ == known().call) return Flow::Jump;
    if (inst_.is_branch) return Flow::Branch;
    const std::array kStops = {known().endpgm, known().endpgm_saved, known().code_end,
                               known().setpc,  known().swappc,       known().rfe};
    for (const Row* stop : kStops) {
      if (&row_ == stop) return Flow::Stop;
    }
    return Flow::Next;
  }

  const Instruction& in_;
  const Row& row_;
  CodeCache& code_;
  Inst& inst_;
  InstExtra* extra_ = nullptr;
  uint32_t highest_vgpr_ = 0;
  bool uses_vgprs_ = false;
  bool bad_sgpr_ = false;
  bool unsupported_source_ = false;
  bool special_ = false;
  bool staged_ = false;
};

void Lowering::check_registers() {
  if (uses_vgprs_ && vgprs_needed() > code_.options().vgprs) {
    inst_.handler = &raise_vgpr_limit;
    inst_.literal = highest_vgpr_;
  } else if (bad_sgpr_) {
    inst_.handler = &raise_sgpr_limit;
  } else if (unsupported_source_) {
    inst_.handler = &raise_bad_source;
  }
}

void Lowering::lower_modifier(std::array<uint32_t, 3>&) {
  unsupported_source_ = true;
}

void Lowering::lower_dual() {
  const auto vop_row = [](const Row& dual) {
    return find_row(fmt::format("v_{}", dual.name.substr(std::string_view("v_dual_").size())));
  };
  const Row* x = vop_row(*in_.row);
  const Row* y = vop_row(*in_.row_y);
  DOPPEL_ASSERT(x != nullptr && y != nullptr, "every v_dual_ row has a row of its operation");
  const uint32_t dst_x = in_.field(Field::Dst);
  // The low bit of Y's destination is the complement of X's (RDNA3 ISA manual, "VOPD").
  const uint32_t dst_y = in_.field(Field::DstY) << 1 | (~dst_x & 1);
  Inst& inst_x = code_.new_pair();
  Inst& inst_y = code_.new_pair();
  Lowering lower_x(in_, inst_.pc, code_, inst_x);
  Lowering lower_y(in_, inst_.pc, code_, inst_y);
  lower_x.lower_half_of_dual(*x, dst_x, in_.field(Field::Src0), in_.field(Field::Src1));
  lower_y.lower_half_of_dual(*y, dst_y, in_.field(Field::SrcY0), in_.field(Field::SrcY1));
  highest_vgpr_ = std::max(lower_x.highest_vgpr_, lower_y.highest_vgpr_);
  uses_vgprs_ = true;
  const auto reads = [](uint32_t src0, uint32_t vsrc1, uint32_t dst) {
    return src0 == dst + kVgpr0 || vsrc1 == dst;
  };
  const bool y_reads_x = reads(in_.field(Field::SrcY0), in_.field(Field::SrcY1), dst_x);
  const bool x_reads_y = reads(in_.field(Field::Src0), in_.field(Field::Src1), dst_y);
  extra().first = y_reads_x ? &inst_y : &inst_x;
  extra().pair = y_reads_x ? &inst_x : &inst_y;
  inst_.handler = y_reads_x && x_reads_y ? code_.handlers().dual_swap : code_.handlers().dual;
}

}  // namespace

Flow lower(const Instruction& instruction, uint64_t pc, CodeCache& code, Inst& inst) {
  return Lowering(instruction, pc, code, inst).run();
}

}  // namespace doppel::isa
