// VOP1, VOP2, VOPC, VOP3, VOP3P, VINTERP with their DPP and SDWA forms, and VOPD.
#include <array>

#include <fmt/format.h>

#include "emulator/isa/modifier_rules.h"
#include "emulator/isa/text.h"

namespace doppel::isa {
namespace {

constexpr std::array kSources = {Field::Src0, Field::Src1, Field::Src2};

bool is_short(Format format) {
  return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
}

bool is_wmma(const Row& row) {
  return row.name.find("wmma") != std::string_view::npos;
}

/// "_e32", "_e64", "_dpp", "_sdwa" where an instruction has several forms.
std::string_view suffix(const Instruction& instruction) {
  const Row& row = *instruction.row;
  const bool dpp =
      instruction.modifier == Modifier::Dpp16 || instruction.modifier == Modifier::Dpp8;
  const bool sdwa =
      instruction.modifier == Modifier::Sdwa || instruction.modifier == Modifier::SdwaC;
  if (sdwa) return "_sdwa";
  const bool has_short_form = is_short(row.format);
  if (dpp) return is_short(instruction.format()) ? "_dpp" : "_e64_dpp";
  if (!has_short_form) return "";
  if (instruction.wide()) return "_e64";
  return row.has(NoE64) ? "" : "_e32";
}

/// Encoded sources, in the order of the operands.
uint32_t encoded_sources(const Row& row) {
  uint32_t count = row.sources();
  if (row.has(Acc) && count == 3) --count;
  if (row.has(ReadsDst) && row.format == Format::VOP1) count = std::min(count, 1u);
  return count;
}

// ------------------------------------------------------------------ DPP and SDWA

void print_dpp16(Text& text) {
  const Instruction& in = text.instruction();
  const uint32_t control = in.modifier_field(Field::DppCtrl);
  const uint32_t amount = control & 0xf;
  if (control <= 0xff) {
    text.raw(fmt::format(" quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3,
                         control >> 4 & 3, control >> 6 & 3));
  } else if (control > 0x100 && control <= 0x10f) {
    text.raw(fmt::format(" row_shl:{}", amount));
  } else if (control > 0x110 && control <= 0x11f) {
    text.raw(fmt::format(" row_shr:{}", amount));
  } else if (control > 0x120 && control <= 0x12f) {
    text.raw(fmt::format(" row_ror:{}", amount));
  } else if (control == 0x140) {
    text.raw(" row_mirror");
  } else if (control == 0x141) {
    text.raw(" row_half_mirror");
  } else if (control >= 0x150 && control <= 0x15f) {
    text.raw(fmt::format(" row_share:{}", amount));
  } else if (control >= 0x160 && control <= 0x16f) {
    text.raw(fmt::format(" row_xmask:{}", amount));
  } else {
    text.require(false);
  }
  text.raw(fmt::format(" row_mask:0x{:x} bank_mask:0x{:x}", in.modifier_field(Field::DppRowMask),
                       in.modifier_field(Field::DppBankMask)));
  if (in.modifier_field(Field::DppBoundCtrl) != 0) text.raw(" bound_ctrl:1");
  if (in.modifier_field(Field::DppFetchInactive) != 0) text.raw(" fi:1");
}

void print_dpp8(Text& text) {
  const Instruction& in = text.instruction();
  text.raw(" dpp8:[");
  for (uint32_t i = 0; i < 8; ++i) {
    text.raw(
        fmt::format("{}{}", i == 0 ? "" : ",", in.modifier_field(Field::DppCtrl) >> (3 * i) & 7));
  }
  text.raw("]");
  if (in.fetch_inactive()) text.raw(" fi:1");
}

std::string_view sdwa_select(Text& text, uint32_t select) {
  constexpr std::string_view kNames[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                         "WORD_0", "WORD_1", "DWORD"};
  text.require(select < std::size(kNames));
  return select < std::size(kNames) ? kNames[select] : "";
}

void print_sdwa_selects(Text& text, uint32_t sources) {
  const Instruction& in = text.instruction();
  if (in.modifier == Modifier::Sdwa && in.row->dst != OperandType::None) {
    constexpr std::string_view kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE",
                                            "UNUSED_PAD"};
    const uint32_t unused = in.modifier_field(Field::SdwaDstUnused);
    text.raw(fmt::format(" dst_sel:{} dst_unused:{}",
                         sdwa_select(text, in.modifier_field(Field::SdwaDstSel)), kUnused[unused]));
  }
  if (sources > 0) {
    text.raw(fmt::format(" src0_sel:{}", sdwa_select(text, in.modifier_field(Field::SdwaSel0))));
  }
  if (sources > 1) {
    text.raw(fmt::format(" src1_sel:{}", sdwa_select(text, in.modifier_field(Field::SdwaSel1))));
  }
}

struct EncodedSource {
  uint32_t code;
  SourceModifiers modifiers;
};

/// An SDWA source: a VGPR or a scalar operand, sign-extended or with float modifiers.
EncodedSource sdwa_source(Text& text, uint32_t index) {
  const Instruction& in = text.instruction();
  const bool first = index == 0;
  const uint32_t number = first ? in.modifier_field(Field::ModSrc) : text.field(Field::Src1);
  const bool scalar = in.modifier_field(first ? Field::SdwaScalar0 : Field::SdwaScalar1) != 0;
  const uint32_t neg_abs = in.modifier_field(first ? Field::SdwaNegAbs0 : Field::SdwaNegAbs1);
  const bool sext = in.modifier_field(first ? Field::SdwaSext0 : Field::SdwaSext1) != 0;
  const bool is_float = info(in.row->src[index]).kind == OperandKind::Float;
  const bool takes_float_modifiers = is_float || in.row->name == "v_cndmask_b32";
  text.require(!(takes_float_modifiers && sext) && !(!takes_float_modifiers && neg_abs != 0));
  return {scalar ? number : number + kVgpr0,
          {.neg = (neg_abs & 1) != 0, .abs = (neg_abs & 2) != 0, .sext = sext}};
}

/// A DPP source: src0 is a VGPR of the modifier dword; in the short forms its modifiers too.
EncodedSource dpp_source(Text& text, uint32_t index) {
  const Instruction& in = text.instruction();
  const uint32_t code =
      index == 0 ? in.modifier_field(Field::ModSrc) + kVgpr0 : text.field(Field::Src1) + kVgpr0;
  SourceModifiers modifiers;
  if (in.modifier == Modifier::Dpp16 && index < 2) {
    const uint32_t bits = in.modifier_field(Field::DppNegAbs) >> (2 * index) & 3;
    modifiers = {.neg = (bits & 1) != 0, .abs = (bits & 2) != 0};
  }
  return {code, modifiers};
}

// ------------------------------------------------------------------ VOP1, VOP2, VOPC

bool takes_short_modifiers(const Row& row, uint32_t index) {
  const ModifierRules& rules = modifier_rules(row);
  return (rules.neg >> index & 1) != 0;
}

/// Sources that have no scalar form; only V_READFIRSTLANE takes LDS_DIRECT too.
void require_vgpr(Text& text, uint32_t code) {
  const bool reads_first_lane = text.instruction().row->name == "v_readfirstlane_b32";
  text.require(is_vgpr(code) || (reads_first_lane && code == kLdsDirect));
}

EncodedSource short_source(Text& text, uint32_t index) {
  const Instruction& in = text.instruction();
  switch (in.modifier) {
    case Modifier::Dpp16:
    case Modifier::Dpp8: {
      EncodedSource source = dpp_source(text, index);
      const bool modified = source.modifiers.neg || source.modifiers.abs;
      text.require(!modified || takes_short_modifiers(*in.row, index));
      if (text.gfx10() && info(in.row->src[index]).kind == OperandKind::Bits &&
          in.row->name != "v_cndmask_b32") {
        source.modifiers = {.sext = source.modifiers.neg};
      }
      return source;
    }
    case Modifier::Sdwa:
    case Modifier::SdwaC:
      return sdwa_source(text, index);
    case Modifier::None:
      break;
  }
  return {index == 0 ? text.field(Field::Src0) : text.field(Field::Src1) + kVgpr0, {}};
}

/// LLVM takes the special sources as destinations too.
void print_scalar_destination(Text& text, OperandType type) {
  const uint32_t code = text.field(Field::Dst);
  text.require(!is_inline_constant(code) && code != kLiteral && code != kLdsDirect);
  text.source(code, type);
}

void print_short_destination(Text& text) {
  const Instruction& in = text.instruction();
  const Row& row = *in.row;
  if (row.dst == OperandType::Mask) {
    if (in.modifier == Modifier::SdwaC && in.modifier_field(Field::SdwaSdstGiven) != 0) {
      text.mask(in.modifier_field(Field::Sdst));
    } else {
      text.vcc();
    }
  } else if (row.dst == OperandType::Sgpr) {
    print_scalar_destination(text, OperandType::Sgpr);
  } else if (row.dst != OperandType::None) {
    text.vgpr(text.field(Field::Dst), registers_of(row.dst));
  } else if (in.encoding->has(Field::Dst)) {
    text.require(text.field(Field::Dst) == 0);
  }
  if (row.has(CarryOut)) text.vcc();
}

/// On gfx11 the short forms of 16-bit operands use the register number's top bit otherwise (it
/// chooses the half), which LLVM does not write.
void require_low_half(Text& text, OperandType type, uint32_t vgpr) {
  const bool is_half = type == OperandType::F16 || type == OperandType::I16 ||
                       type == OperandType::U16 || type == OperandType::B16;
  text.require(text.gfx10() || !is_half || vgpr < 128);
}

bool has_wide_operand(const Row& row) {
  bool wide = registers_of(row.dst) == 2;
  for (OperandType type : row.src) wide |= registers_of(type) == 2;
  return wide;
}

/// gfx11: no DPP for 64-bit operands, nor for packed math but the mixed dot products.
bool takes_dpp(const Row& row, bool gfx10) {
  if (row.name == "v_fmac_dx9_zero_f32") return false;
  if (gfx10 && row.format == Format::VOPC) return false;
  if (gfx10 && row.format == Format::VOP2 && row.dst == OperandType::Pk2F16 && row.has(Acc)) {
    return false;
  }
  if (has_wide_operand(row) || row.has(NoDpp)) return false;
  if (row.format != Format::VOP3P) return true;
  return row.src[0] == OperandType::Mix ||
         (row.src[0] == OperandType::Pk2F16 && row.dst == OperandType::F32);
}

/// V_MOV_B16 names halves of registers: v5.l, v5.h.
void print_half_register(Text& text, uint32_t number) {
  text.begin_operand();
  text.raw(fmt::format("v{}.{}", number & 0x7f, number < 128 ? "l" : "h"));
}

void print_mov_b16(Text& text) {
  print_half_register(text, text.field(Field::Dst));
  const EncodedSource encoded = short_source(text, 0);
  const uint32_t source = encoded.code;
  text.require(!encoded.modifiers.neg && !encoded.modifiers.abs);
  if (is_vgpr(source)) {
    print_half_register(text, source - kVgpr0);
  } else {
    text.source(source, OperandType::B16);
  }
}

void print_sdwa_output(Text& text, uint32_t sources) {
  const Instruction& in = text.instruction();
  const uint32_t omod = in.modifier_field(Field::Omod);
  const OperandKind kind = info(in.row->dst).kind;
  text.require(omod == 0 || kind == OperandKind::Float || kind == OperandKind::PackedFloat);
  // The second source's fields, where there is none, are 0.
  text.require(sources > 1 || in.extra_word() >> 24 == 0);
  text.flag("clamp", in.modifier_field(Field::Clamp) != 0);
  constexpr std::string_view kOmod[] = {"", " mul:2", " mul:4", " div:2"};
  text.raw(kOmod[omod]);
}

bool takes_sdwa(const Text& text) {
  const Instruction& in = text.instruction();
  const Row& row = *in.row;
  if (row.has(Acc) || has_wide_operand(row)) return false;
  const bool writes_exec_only = row.dst == OperandType::None && row.format == Format::VOPC;
  return !writes_exec_only || in.modifier_field(Field::SdwaSdstGiven) == 0;
}

void print_short(Text& text) {
  const Instruction& in = text.instruction();
  const Row& row = *in.row;
  if (row.name == "v_mov_b16") return print_mov_b16(text);
  text.require(row.name != "v_swap_b16");  // LLVM does not know it
  print_short_destination(text);
  if (row.dst != OperandType::None) require_low_half(text, row.dst, text.field(Field::Dst));
  const uint32_t sources = encoded_sources(row);
  uint32_t printed = 0;
  for (uint32_t i = 0; i < sources; ++i) {
    if (row.src[i] == OperandType::Mask) {
      text.vcc();
      continue;
    }
    if ((row.has(KMul) && i == 1) || (row.has(KAdd) && i == 2)) {
      text.literal();
      continue;
    }
    const EncodedSource source = short_source(text, printed++);
    if (is_vgpr(source.code)) require_low_half(text, row.src[i], source.code - kVgpr0);
    if (row.src[i] == OperandType::VgprOnly) require_vgpr(text, source.code);
    text.source(source.code, row.src[i], source.modifiers);
  }
  if (in.modifier == Modifier::Dpp16) {
    // The modifiers of a second source that there is not.
    text.require(printed > 1 || in.modifier_field(Field::DppNegAbs) >> 2 == 0);
  }
  if (in.modifier == Modifier::Sdwa) print_sdwa_output(text, printed);
  if (in.modifier == Modifier::Sdwa || in.modifier == Modifier::SdwaC) {
    text.require(takes_sdwa(text));
    print_sdwa_selects(text, printed);
  }
}

// ------------------------------------------------------------------ VOP3

void print_bits(Text& text, std::string_view name, uint32_t bits, uint32_t count) {
  text.raw(fmt::format(" {}:[", name));
  for (uint32_t i = 0; i < count; ++i) {
    text.raw(fmt::format("{}{}", i == 0 ? "" : ",", bits >> i & 1));
  }
  text.raw("]");
}

void print_op_sel(Text& text, const ModifierRules& rules, uint32_t sources) {
  const uint32_t op_sel = text.field(Field::OpSel) & ~rules.op_sel_ignored;
  text.require((op_sel & ~rules.op_sel) == 0);
  if (op_sel == 0) return;
  // One digit a source, then the destination's.
  const uint32_t below = op_sel & ((1u << sources) - 1);
  const bool has_destination = (rules.op_sel & 8) != 0;
  print_bits(text, "op_sel", below | (op_sel >> 3 & 1) << sources,
             sources + (has_destination ? 1 : 0));
}

void print_wide_destination(Text& text) {
  const Instruction& in = text.instruction();
  const Row& row = *in.row;
  if (row.dst == OperandType::Mask) {
    print_scalar_destination(text, OperandType::Mask);
  } else if (row.dst == OperandType::Sgpr) {
    print_scalar_destination(text, OperandType::Sgpr);
  } else if (row.dst != OperandType::None) {
    text.vgpr(text.field(Field::Dst), registers_of(row.dst));
  }
  if (row.has(CarryOut)) text.mask(text.field(Field::Sdst));
}

void print_output_modifiers(Text& text, const ModifierRules& rules) {
  const bool clamp = text.field(Field::Clamp) != 0;
  const uint32_t omod = text.field(Field::Omod);
  text.require((!clamp || rules.clamp) && (omod == 0 || rules.omod));
  text.flag("clamp", clamp);
  constexpr std::string_view kOmod[] = {"", " mul:2", " mul:4", " div:2"};
  text.raw(kOmod[omod]);
}

void print_dpp(Text& text) {
  const Modifier modifier = text.instruction().modifier;
  const bool is_dpp = modifier == Modifier::Dpp16 || modifier == Modifier::Dpp8;
  text.require(!is_dpp || takes_dpp(*text.instruction().row, text.gfx10()));
  if (text.instruction().modifier == Modifier::Dpp16) print_dpp16(text);
  if (text.instruction().modifier == Modifier::Dpp8) print_dpp8(text);
}

/// Source `index` of the 64-bit encodings; DPP replaces the first one.
uint32_t wide_source(const Text& text, uint32_t index) {
  const Instruction& in = text.instruction();
  if (index == 0 && in.modifier != Modifier::None) {
    return in.modifier_field(Field::ModSrc) + kVgpr0;
  }
  return text.field(kSources[index]);
}

void require_unused_sources(Text& text, uint32_t used) {
  for (uint32_t i = used; i < kSources.size(); ++i) {
    text.require(text.field(kSources[i]) == 0);
  }
}

/// LLVM writes the neg bit of these integer sources as sign extension.
bool writes_neg_as_sext(const Text& text, uint32_t source) {
  const Row& row = *text.instruction().row;
  if (row.name == "v_cvt_pk_u8_f32") return source > 0;
  const bool ignored = (modifier_rules(row).neg_ignored >> source & 1) != 0;
  return text.instruction().modifier != Modifier::None && ignored;
}

SourceModifiers wide_modifiers(const Text& text, const ModifierRules& rules, uint32_t source) {
  const bool neg = (text.field(Field::Neg) >> source & 1) != 0;
  const bool abs = (text.field(Field::Abs) >> source & 1) != 0;
  if (writes_neg_as_sext(text, source)) return {.sext = neg};
  return {.neg = neg && (rules.neg >> source & 1) != 0,
          .abs = abs && (rules.abs >> source & 1) != 0};
}

void print_vop3(Text& text) {
  const Instruction& in = text.instruction();
  const Row& row = *in.row;
  const ModifierRules& rules = modifier_rules(row);
  const uint32_t sources = encoded_sources(row);
  const uint32_t neg = text.field(Field::Neg), abs = text.field(Field::Abs);
  text.require((neg & ~(rules.neg | rules.neg_ignored)) == 0);
  text.require((abs & ~(rules.abs | rules.abs_ignored)) == 0);
  print_wide_destination(text);
  for (uint32_t i = 0; i < sources; ++i) {
    const uint32_t code = wide_source(text, i);
    if (row.src[i] == OperandType::VgprOnly) require_vgpr(text, code);
    text.source(code, row.src[i], wide_modifiers(text, rules, i));
  }
  require_unused_sources(text, sources);
  if (in.format() == Format::VOP3) print_op_sel(text, rules, sources);
  print_output_modifiers(text, rules);
}

// ------------------------------------------------------------------ VOP3P, VINTERP

void print_packed_modifiers(Text& text, uint32_t sources, bool mixes) {
  const Row& row = *text.instruction().row;
  const uint32_t all = (1u << sources) - 1;
  const uint32_t op_sel = text.field(Field::OpSel);
  const uint32_t op_sel_hi = (text.field(Field::OpSelHi) | text.field(Field::OpSelHi2) << 2) & all;
  const uint32_t neg = text.field(Field::Neg), neg_hi = text.field(Field::NegHi);
  text.require(((op_sel | neg | neg_hi) & ~all) == 0);
  const bool is_matrix = is_wmma(row);
  const bool half_result = row.dst == OperandType::AccF16 || row.dst == OperandType::AccBF16;
  if (is_matrix && !half_result) text.require(op_sel == 0);
  if (is_matrix && row.dst != OperandType::AccI32) text.require(text.field(Field::Clamp) == 0);
  if (op_sel != 0) print_bits(text, "op_sel", op_sel, sources);
  const bool prints_hi = !is_matrix || half_result;
  if (prints_hi && op_sel_hi != (mixes ? 0 : all)) {
    print_bits(text, "op_sel_hi", op_sel_hi, sources);
  }
  if (!mixes) {
    if (neg != 0) print_bits(text, "neg_lo", neg, sources);
    if (neg_hi != 0) print_bits(text, "neg_hi", neg_hi, sources);
  }
  text.flag("clamp", text.field(Field::Clamp) != 0);
}

bool is_null(const Text& text, uint32_t code) {
  return code == (text.gfx10() ? 125u : 124u);
}

/// Matrices A and B are VGPRs; C may be a constant, a special source or NULL.
void print_matrix(Text& text, uint32_t source, uint32_t code, OperandType type) {
  const bool other = source == 2 && (is_null(text, code) || !is_scalar_register(code));
  text.require(code != kLiteral && (is_vgpr(code) || other));
  if (is_null(text, code)) {
    text.begin_operand();
    text.raw("null");
  } else {
    text.source(code, type);
  }
}

void print_vop3p(Text& text) {
  const Row& row = *text.instruction().row;
  const uint32_t sources = encoded_sources(row);
  const bool mixes = row.src[0] == OperandType::Mix;
  const bool is_matrix = is_wmma(row);
  print_wide_destination(text);
  for (uint32_t i = 0; i < sources; ++i) {
    const uint32_t code = wide_source(text, i);
    if (is_matrix) {
      print_matrix(text, i, code, row.src[i]);
      continue;
    }
    SourceModifiers modifiers;
    if (mixes) {
      modifiers = {.neg = (text.field(Field::Neg) >> i & 1) != 0,
                   .abs = (text.field(Field::NegHi) >> i & 1) != 0};
    }
    text.source(code, row.src[i], modifiers);
  }
  require_unused_sources(text, sources);
  print_packed_modifiers(text, sources, mixes);
}

void print_vinterp(Text& text) {
  const Row& row = *text.instruction().row;
  text.vgpr(text.field(Field::Dst), 1);
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t code = text.field(kSources[i]);
    text.require(is_vgpr(code));
    text.source(code, OperandType::F32, {.neg = (text.field(Field::Neg) >> i & 1) != 0});
  }
  const uint32_t op_sel = text.field(Field::OpSel);
  const bool has_halves = row.name.find("f16") != std::string_view::npos;
  text.require(op_sel == 0 || has_halves);
  text.flag("clamp", text.field(Field::Clamp) != 0);
  if (op_sel != 0) print_bits(text, "op_sel", op_sel, 4);
  text.raw(fmt::format(" wait_exp:{}", text.field(Field::WaitExp)));
}

}  // namespace

void print_vector(Text& text) {
  const Instruction& in = text.instruction();
  text.mnemonic(in.row->name_in(in.family), suffix(in));
  switch (in.format()) {
    case Format::VOP3P:
      print_vop3p(text);
      break;
    case Format::VINTERP:
      print_vinterp(text);
      break;
    case Format::VOP3:
    case Format::VOP3SD:
      print_vop3(text);
      break;
    default:
      print_short(text);
      break;
  }
  print_dpp(text);
}

namespace {

void print_half_of_dual(Text& text, const Row& row, uint32_t destination, uint32_t src0,
                        uint32_t src1) {
  text.mnemonic(row.name);
  text.require(row.name != "v_dual_dot2acc_f32_bf16");  // LLVM does not know it
  text.vgpr(destination, 1);
  text.source(src0, row.src[0]);
  if (row.src[1] == OperandType::None) {
    text.require(src1 == 0);
    return;
  }
  if (row.has(KMul)) text.literal();
  text.vgpr(src1, 1);
  if (row.has(KAdd)) text.literal();
}

}  // namespace

void print_dual(Text& text) {
  const Instruction& in = text.instruction();
  text.require(!text.wave64());  // VOPD is an instruction of wave32
  const uint32_t dst_x = text.field(Field::Dst);
  // The low bit of Y's destination is the complement of X's.
  const uint32_t dst_y = text.field(Field::DstY) << 1 | (~dst_x & 1);
  print_half_of_dual(text, *in.row, dst_x, text.field(Field::Src0), text.field(Field::Src1));
  text.raw(" :: ");
  print_half_of_dual(text, *in.row_y, dst_y, text.field(Field::SrcY0), text.field(Field::SrcY1));
}

}  // namespace doppel::isa
