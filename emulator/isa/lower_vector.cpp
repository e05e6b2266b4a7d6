#include <fmt/format.h>

#include "core/assert.h"
#include "emulator/isa/lowering.h"

namespace doppel::isa {
namespace {

constexpr uint32_t kLowRegisters = 128;  // addressable by half in the 32-bit encodings of gfx11

bool is_packed_16bit(OperandType type) {
  return type == OperandType::Pk2F16 || type == OperandType::Pk2BF16 ||
         type == OperandType::Pk2I16 || type == OperandType::Pk2U16;
}
/// Types whose sources NEG and ABS modify.
bool has_sign(OperandType type) {
  return info(type).kind == OperandKind::Float || type == OperandType::B32 ||
         type == OperandType::B16 || type == OperandType::Exponent;
}

}  // namespace

void Lowering::lower_vector(Scope scope) {
  set_vector_destination();
  std::array<uint32_t, 3> codes{in_.field(Field::Src0), in_.field(Field::Src1),
                                in_.field(Field::Src2)};
  if (in_.encoding->words == 1) codes[1] += kVgpr0;
  if (row_->has(Acc)) codes[2] = in_.field(Field::Dst) + kVgpr0;
  place_literal(*row_, codes);
  neg_ = in_.format() == Format::VOP3P ? 0 : in_.field(Field::Neg);
  abs_ = in_.field(Field::Abs);
  inst_.out.omod = static_cast<uint8_t>(in_.field(Field::Omod));
  inst_.out.clamp = in_.field(Field::Clamp) != 0;
  if (in_.modifier == Modifier::Dpp16 || in_.modifier == Modifier::Dpp8) {
    set_dpp(codes);
  } else if (in_.modifier != Modifier::None) {
    set_sdwa(codes);
  }
  // Indexed moves find their source register themselves.
  unsupported_source_ |= in_.modifier != Modifier::None && row_->src[0] == OperandType::VgprOnly;
  if (row_->has(CarryIn)) set_mask_source(in_.encoding->words == 1 ? uint32_t{kVccLo} : codes[2]);
  for (uint32_t i = 0; i < row_->sources(); ++i) {
    if (row_->src[i] == OperandType::Mask) continue;
    set_vector_source(i, codes[i], row_->src[i]);
    if (i == 2 && row_->has(Acc)) continue;  // the accumulator has no modifiers
    set_sign_modifiers(i, row_->src[i], (neg_ >> i & 1) != 0, (abs_ >> i & 1) != 0);
  }
  set_halves();
  set_sdwa_selects();
  finish_vector(scope);
}

void Lowering::set_vector_destination() {
  const uint32_t field = in_.field(Field::Dst);
  switch (row_->dst) {
    case OperandType::None:  // V_CMPX
      // gfx10.3 ignores VDST, which compilers leave 0 there.
      if (in_.wide() && row_->format == Format::VOPC && in_.family != GfxFamily::Gfx10_3)
        inst_.sdst = scalar_destination(field);
      break;
    case OperandType::Mask:
      inst_.sdst = in_.wide() ? scalar_destination(field) : static_cast<uint16_t>(kVccLo);
      break;
    case OperandType::Sgpr:
      inst_.sdst = scalar_destination(field);
      break;
    default:
      if (has_16bit_registers() && is_16bit(row_->dst) && field >= kLowRegisters) {
        inst_.out.high_half = true;
        set_vdst(field - kLowRegisters, row_->dst);
      } else {
        set_vdst(field, row_->dst);
      }
      break;
  }
  if (row_->has(CarryOut)) {
    inst_.sdst = in_.format() == Format::VOP3SD ? scalar_destination(in_.field(Field::Sdst))
                                                : static_cast<uint16_t>(kVccLo);
  }
}

/// The 32-bit encodings of gfx11 name halves of v0..v127 where an operand has 16 bits.
bool Lowering::has_16bit_registers() const {
  return in_.family != GfxFamily::Gfx10_3 && in_.encoding->words == 1;
}

void Lowering::place_literal(const Row& row, std::array<uint32_t, 3>& codes) const {
  if (row.has(KMul)) {
    codes[2] = codes[1];
    codes[1] = kLiteral;
  } else if (row.has(KAdd)) {
    codes[2] = kLiteral;
  }
}

void Lowering::set_mask_source(uint32_t code) {
  const uint32_t slot = canonical(code);
  unsupported_source_ |= !is_scalar_register(slot);
  inst_.smask = static_cast<uint16_t>(slot & 0x7f);
}

void Lowering::set_vector_source(uint32_t i, uint32_t code, OperandType type) {
  const uint32_t count = registers_of(type);
  // V_READLANE and V_READFIRSTLANE read SGPRs and constants too.
  const bool vgprs_only = type == OperandType::B128 ||
                          (type == OperandType::VgprOnly && row_->dst != OperandType::Sgpr);
  unsupported_source_ |= vgprs_only && !is_vgpr(code);
  Place place;
  bool scalar = false, high_half = false;
  if (is_vgpr(code)) {
    uint32_t index = code - kVgpr0;
    high_half = has_16bit_registers() && is_16bit(type) && index >= kLowRegisters;
    if (high_half) index -= kLowRegisters;
    place = {index * kRegisterBytes, Base::Vgpr};
    use_vgprs(index, count);
    inst_.destination_is_source |= overlaps_destination(index, count);
  } else if (code == kLiteral) {
    place = lanes_constant(literal_constant(in_.literal(), type), type);
  } else if (is_inline_constant(code)) {
    place = lanes_constant(inline_constant(code, type), type);
  } else if (const auto special = special_place(code)) {
    place = *special;
    scalar = true;
  } else {
    const uint32_t slot = aligned_sgpr(canonical(code), count);
    use_sgprs(slot, count);
    unsupported_source_ |= !is_scalar_register(slot);
    place = {static_cast<int64_t>(offsetof(emu::WaveOperands, s) + (slot & 0x7f) * 4), Base::Wave};
    scalar = true;
  }
  inst_.source[i] = place.offset;
  inst_.base[i] = place.base;
  if (scalar) require_stage(i).how = Stage::Broadcast;
  if (high_half) require_stage(i).low_half = 1;
}

void Lowering::set_sign_modifiers(uint32_t i, OperandType type, bool neg, bool abs) {
  if (!has_sign(type) || (!neg && !abs)) return;
  const uint32_t sign = is_16bit(type) ? 0x8000u : 0x80000000u;
  SourceStage& stage = require_stage(i);
  if (abs) stage.and_mask = ~sign;
  if (neg) stage.xor_mask = sign;
}

/// OP_SEL chooses halves of 16-bit operands; of packed ones, with OP_SEL_HI, both.
void Lowering::set_halves() {
  if (!in_.encoding->has(Field::OpSel)) return;
  const uint32_t op_sel = in_.field(Field::OpSel);
  if (in_.format() == Format::VOP3P) {
    extra().op_sel = static_cast<uint8_t>(op_sel);
    extra().op_sel_hi =
        static_cast<uint8_t>(in_.field(Field::OpSelHi) | in_.field(Field::OpSelHi2) << 2);
    extra().neg = static_cast<uint8_t>(in_.field(Field::Neg));
    extra().neg_hi = static_cast<uint8_t>(in_.field(Field::NegHi));
    for (uint32_t i = 0; i < row_->sources(); ++i) {
      row_->src[i] == OperandType::Mix ? set_mixed(i) : set_packed(i);
    }
    return;
  }
  if (op_sel == 0) return;
  extra().op_sel = static_cast<uint8_t>(op_sel);
  for (uint32_t i = 0; i < row_->sources(); ++i) {
    // The accumulator is the half that is written.
    const uint32_t bit = i == 2 && row_->has(Acc) ? 3 : i;
    if ((op_sel >> bit & 1) != 0 && is_16bit(row_->src[i])) require_stage(i).low_half = 1;
  }
  if ((op_sel & 8) != 0 && is_16bit(row_->dst)) inst_.out.high_half = true;
}

void Lowering::set_packed(uint32_t i) {
  if (!is_packed_16bit(row_->src[i])) return;
  const uint32_t low = extra().op_sel >> i & 1, high = extra().op_sel_hi >> i & 1;
  uint32_t flip = 0;
  if (info(row_->src[i]).kind == OperandKind::PackedFloat) {
    if ((extra().neg >> i & 1) != 0) flip |= 0x8000;
    if ((extra().neg_hi >> i & 1) != 0) flip |= 0x80000000;
  }
  if (low == 0 && high == 1 && flip == 0) return;
  SourceStage& stage = require_stage(i);
  stage.low_half = static_cast<uint8_t>(low);
  stage.high_half = static_cast<uint8_t>(high);
  stage.xor_mask = flip;
}

/// V_FMA_MIX: OP_SEL_HI makes a source an f16, of the half that OP_SEL chooses; NEG_HI is ABS.
void Lowering::set_mixed(uint32_t i) {
  if ((extra().op_sel_hi >> i & 1) != 0) {
    const std::array fields = {Field::Src0, Field::Src1, Field::Src2};
    const uint32_t code = in_.field(fields[i]);
    if (is_inline_constant(code)) {
      inst_.source[i] =
          lanes_constant(inline_constant(code, OperandType::F16), OperandType::F16).offset;
    }
    SourceStage& stage = require_stage(i);
    stage.low_half = static_cast<uint8_t>(extra().op_sel >> i & 1);
    stage.half_to_float = true;
  }
  set_sign_modifiers(i, OperandType::F32, (extra().neg >> i & 1) != 0,
                     (extra().neg_hi >> i & 1) != 0);
}

/// DPP: source 0 is a VGPR whose lanes are moved first.
void Lowering::set_dpp(std::array<uint32_t, 3>& codes) {
  codes[0] = in_.modifier_field(Field::ModSrc) + kVgpr0;
  extra().modifier = in_.extra_word();
  extra().dpp8 = in_.modifier == Modifier::Dpp8;
  extra().fetch_inactive = in_.fetch_inactive();
  if (in_.modifier == Modifier::Dpp8) return;
  extra().dpp_control = static_cast<uint16_t>(in_.modifier_field(Field::DppCtrl));
  extra().dpp_bound_control = in_.modifier_field(Field::DppBoundCtrl) != 0;
  extra().dpp_row_mask = static_cast<uint8_t>(in_.modifier_field(Field::DppRowMask));
  extra().dpp_bank_mask = static_cast<uint8_t>(in_.modifier_field(Field::DppBankMask));
  if (in_.encoding->words > 1) return;  // VOP3 and VOP3P have their own modifiers
  const uint32_t neg_abs = in_.modifier_field(Field::DppNegAbs);
  neg_ = (neg_abs & 1) | (neg_abs >> 2 & 1) << 1;
  abs_ = (neg_abs >> 1 & 1) | (neg_abs >> 3 & 1) << 1;
}

/// SDWA (gfx10.3): bytes and words of the sources and of the destination.
void Lowering::set_sdwa(std::array<uint32_t, 3>& codes) {
  const auto source = [&](uint32_t index, Field scalar) {
    return in_.modifier_field(scalar) != 0 ? index : index + kVgpr0;
  };
  codes[0] = source(in_.modifier_field(Field::ModSrc), Field::SdwaScalar0);
  if (in_.encoding->has(Field::Src1)) {
    codes[1] = source(in_.field(Field::Src1), Field::SdwaScalar1);
  }
  const uint32_t first = in_.modifier_field(Field::SdwaNegAbs0);
  const uint32_t second = in_.modifier_field(Field::SdwaNegAbs1);
  neg_ = (first & 1) | (second & 1) << 1;
  abs_ = first >> 1 | (second >> 1) << 1;
  if (in_.modifier == Modifier::SdwaC) {
    if (in_.modifier_field(Field::SdwaSdstGiven) != 0) {
      inst_.sdst = scalar_destination(in_.modifier_field(Field::Sdst));
    }
    return;
  }
  inst_.out.omod = static_cast<uint8_t>(in_.modifier_field(Field::Omod));
  inst_.out.clamp = in_.modifier_field(Field::Clamp) != 0;
  extra().sdwa_destination = static_cast<uint8_t>(in_.modifier_field(Field::SdwaDstSel));
  extra().sdwa_unused = static_cast<uint8_t>(in_.modifier_field(Field::SdwaDstUnused));
}

void Lowering::set_sdwa_selects() {
  if (in_.modifier != Modifier::Sdwa && in_.modifier != Modifier::SdwaC) return;
  constexpr std::array kSelects = {Field::SdwaSel0, Field::SdwaSel1};
  constexpr std::array kSignExtends = {Field::SdwaSext0, Field::SdwaSext1};
  for (uint32_t i = 0; i < std::min<uint32_t>(row_->sources(), 2); ++i) {
    if (row_->src[i] == OperandType::Mask) continue;
    const uint32_t select = in_.modifier_field(kSelects[i]);
    if (select == kSdwaDword) continue;
    SourceStage& stage = require_stage(i);
    stage.sdwa_select = static_cast<uint8_t>(select);
    stage.sdwa_sign_extend = in_.modifier_field(kSignExtends[i]) != 0;
  }
}

bool Lowering::overlaps_destination(uint32_t first, uint32_t count) const {
  const auto dst = static_cast<uint32_t>(inst_.vdst / kRegisterBytes);
  const Row& row = all_rows()[inst_.row];
  const bool vector = row.dst != OperandType::Mask && row.dst != OperandType::Sgpr;
  const uint32_t dst_count = vector ? registers_of(row.dst) : 0;
  return first < dst + dst_count && dst < first + count;
}

Place Lowering::lanes_constant(uint64_t bits, OperandType type) {
  return {reinterpret_cast<int64_t>(code_.constant(bits, registers_of(type))), Base::Absolute};
}

/// Redirects source `i` to its staged copy.
SourceStage& Lowering::require_stage(uint32_t i) {
  SourceStage& stage = extra().stages[i];
  if (stage.how == Stage::Raw) {
    stage.how = Stage::Lanes;
    stage.offset = inst_.source[i];
    stage.base = inst_.base[i];
    stage.registers = static_cast<uint8_t>(registers_of(all_rows()[inst_.row].src[i]));
    inst_.source[i] = static_cast<int64_t>(offsetof(emu::WaveOperands, staged) +
                                           i * sizeof(emu::WaveOperands::staged[0]));
    inst_.base[i] = Base::Wave;
    staged_ = true;
  }
  return stage;
}

InstExtra& Lowering::extra() {
  if (extra_ == nullptr) {
    extra_ = &code_.new_extra();
    inst_.extra = extra_;
  }
  return *extra_;
}

void Lowering::finish_vector(Scope scope) {
  const HandlerTable& handlers = code_.handlers();
  const bool halves = code_.options().wave64 && scope == Scope::Lanes;
  if (in_.modifier != Modifier::None) {
    require_stage(0);
    const bool dpp = in_.modifier == Modifier::Dpp16 || in_.modifier == Modifier::Dpp8;
    inst_.handler = dpp ? handlers.dpp : handlers.sdwa;
  } else if (special_) {
    inst_.handler = handlers.refresh_special;
  } else if (staged_) {
    inst_.handler = halves ? handlers.prepared64 : handlers.prepared32;
  } else if (halves) {
    inst_.handler = handlers.halves;
  }
}

/// VOPD: two VOP1 or VOP2 operations that read their sources before either writes.
void Lowering::lower_dual() {
  const auto operation = [](const Row& dual) {
    return find_row(fmt::format("v_{}", dual.name.substr(std::string_view("v_dual_").size())));
  };
  const Row* row_x = operation(*in_.row);
  const Row* row_y = operation(*in_.row_y);
  DOPPEL_ASSERT(row_x != nullptr && row_y != nullptr, "a v_dual_ row has a row of its operation");
  const uint32_t dst_x = in_.field(Field::Dst);
  // The low bit of Y's destination is the complement of X's.
  const uint32_t dst_y = in_.field(Field::DstY) << 1 | (~dst_x & 1);
  Inst& inst_x = code_.new_pair();
  Inst& inst_y = code_.new_pair();
  Lowering x(in_, inst_.pc, code_, inst_x), y(in_, inst_.pc, code_, inst_y);
  x.lower_dual_part(*row_x, dst_x, in_.field(Field::Src0), in_.field(Field::Src1));
  y.lower_dual_part(*row_y, dst_y, in_.field(Field::SrcY0), in_.field(Field::SrcY1));
  use_vgprs(std::max(x.highest_vgpr_, y.highest_vgpr_), 1);
  bad_sgpr_ = x.bad_sgpr_ || y.bad_sgpr_;
  unsupported_source_ = x.unsupported_source_ || y.unsupported_source_;
  const auto reads = [](uint32_t src0, uint32_t vsrc1, uint32_t dst) {
    return src0 == dst + kVgpr0 || vsrc1 == dst;
  };
  const bool y_reads_x = reads(in_.field(Field::SrcY0), in_.field(Field::SrcY1), dst_x);
  const bool x_reads_y = reads(in_.field(Field::Src0), in_.field(Field::Src1), dst_y);
  extra().first = y_reads_x ? &inst_y : &inst_x;
  extra().pair = y_reads_x ? &inst_x : &inst_y;
  extra().second_row = static_cast<uint16_t>(index_of(*in_.row_y));
  inst_.handler = y_reads_x && x_reads_y ? code_.handlers().dual_swap : code_.handlers().dual;
}

void Lowering::lower_dual_part(const Row& row, uint32_t vdst, uint32_t src0, uint32_t vsrc1) {
  row_ = &row;
  const RowHandler& handler = handler_of(row);
  inst_.body = inst_.handler = handler.body;
  inst_.row = static_cast<uint16_t>(index_of(row));
  set_vdst(vdst, row.dst);
  std::array<uint32_t, 3> codes{src0, vsrc1 + kVgpr0, vdst + kVgpr0};
  place_literal(row, codes);
  for (uint32_t i = 0; i < row.sources(); ++i) {
    if (row.src[i] != OperandType::Mask) set_vector_source(i, codes[i], row.src[i]);
  }
  finish_vector(handler.scope);
}

}  // namespace doppel::isa
