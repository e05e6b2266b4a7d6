#include "emulator/isa/disassembler.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emulator/isa/operand_text.h"

namespace doppel::isa {
namespace {

/// Writes one instruction: the name, operands with commas between, modifiers behind.
class Text {
 public:
  Text(const Instruction& in, bool wave64) : in_(in), row_(*in.row), wave64_(wave64) {}

  std::string run() {
    switch (in_.format()) {
      case Format::SOP1:
      case Format::SOP2:
      case Format::SOPC:
      case Format::SOPK:
      case Format::SOPP:
        scalar();
        break;
      case Format::SMEM:
        scalar_memory();
        break;
      case Format::DS:
        local_memory();
        break;
      case Format::FLAT:
      case Format::GLOBAL:
      case Format::SCRATCH:
        flat_memory();
        break;
      case Format::MUBUF:
      case Format::MTBUF:
        buffer_memory();
        break;
      case Format::VOPD:
        dual();
        break;
      default:
        vector();
        break;
    }
    std::string text(row_.name_in(in_.family));
    text += suffix_;
    if (!operands_.empty()) text += fmt::format(" {}", fmt::join(operands_, ", "));
    return text + modifiers_;
  }

 private:
  // Operands and modifiers.

  void operand(std::string text) { operands_.push_back(std::move(text)); }
  template <class... Args>
  void modifier(fmt::format_string<Args...> format, Args&&... args) {
    modifiers_ += ' ';
    modifiers_ += fmt::format(format, std::forward<Args>(args)...);
  }
  void flag(Field field, std::string_view name) {
    if (in_.field(field) != 0) modifier("{}", name);
  }

  uint32_t canonical(uint32_t code) const {
    if (in_.family != GfxFamily::Gfx10_3 || (code != 124 && code != 125)) return code;
    return code == 124 ? uint32_t{kM0} : uint32_t{kNull};
  }
  std::string sgpr(uint32_t code, uint32_t registers) const {
    return register_text(canonical(code), registers);
  }
  static std::string vgpr(uint32_t index, OperandType type) {
    return register_text(index + kVgpr0, registers_of(type));
  }
  std::string source(uint32_t code, OperandType type) const {
    // Scalar operands have no halves: a literal is written whole.
    const bool scalar = in_.encoding->words == 1 && !is_short_vector(in_.format());
    return source_text(canonical(code), scalar && is_16bit(type) ? OperandType::B32 : type,
                       in_.literal());
  }
  std::string mask(uint32_t code) const { return mask_text(canonical(code), wave64_); }
  std::string literal() const { return fmt::format("0x{:x}", in_.literal()); }

  // Scalar formats.

  void scalar() {
    const uint32_t dst = in_.field(Field::Dst);
    if (in_.format() == Format::SOPK) return scalar_immediate(dst);
    if (row_.dst != OperandType::None) operand(sgpr(dst, registers_of(row_.dst)));
    constexpr std::array kFields = {Field::Src0, Field::Src1};
    for (uint32_t i = 0; i < row_.sources(); ++i) {
      const OperandType type = row_.src[i];
      if ((row_.has(KMul) && i == 1) || (row_.has(KAdd) && i == 2)) {
        operand(literal());
      } else if (info(type).kind == OperandKind::Immediate) {
        const Field field = in_.format() == Format::SOPP ? Field::Simm16 : Field::Src0;
        const uint32_t value = in_.field(field);
        if (type == OperandType::OptionalImm16 && value == 0) continue;
        operand(immediate_text(type, value, in_.family));
      } else {
        const uint32_t index = row_.has(KMul) && i == 2 ? 1 : i;
        if (index >= kFields.size() || !in_.encoding->has(kFields[index])) continue;
        operand(source(in_.field(kFields[index]), type));
      }
    }
  }

  void scalar_immediate(uint32_t dst) {
    const uint32_t value = in_.field(Field::Simm16);
    if (row_.src[0] == OperandType::HwReg && row_.dst == OperandType::None) {  // S_SETREG
      operand(immediate_text(OperandType::HwReg, value, in_.family));
      operand(row_.has(KAdd) ? literal() : sgpr(dst, 1));
      return;
    }
    OperandType immediate = row_.src[0];
    bool has_register = row_.dst != OperandType::None;
    for (OperandType type : row_.src) {
      if (info(type).kind == OperandKind::Immediate) immediate = type;
      if (info(type).kind == OperandKind::Bits) has_register = true;
    }
    const uint32_t registers = row_.dst != OperandType::None ? registers_of(row_.dst) : 1;
    if (has_register) operand(sgpr(dst, registers));
    if (immediate == OperandType::Imm16 && has_register) immediate = OperandType::Hex16;
    operand(immediate_text(immediate, value, in_.family));
  }

  // Memory formats.

  void scalar_memory() {
    const uint32_t base = in_.field(Field::Sbase) * 2;
    if (row_.src[0] == OperandType::Imm16) {  // S_ATC_PROBE
      operand(fmt::format("{}", in_.field(Field::Dst)));
      operand(sgpr(base, registers_of(row_.src[1])));
      scalar_offset();
    } else {
      if (row_.dst != OperandType::None) {
        operand(sgpr(in_.field(Field::Dst), registers_of(row_.dst)));
      }
      if (row_.src[0] != OperandType::None) {
        operand(sgpr(base, registers_of(row_.src[0])));
        scalar_offset();
      }
    }
    if (row_.dst == OperandType::None) return;
    flag(Field::Glc, "glc");
    flag(Field::Dlc, "dlc");
  }

  void scalar_offset() {
    const auto offset = static_cast<int32_t>(in_.field(Field::Offset) << 11) >> 11;
    const std::string hex = fmt::format("{}0x{:x}", offset < 0 ? "-" : "", std::abs(offset));
    const uint32_t soffset = canonical(in_.field(Field::Soffset));
    if (soffset == kNull && offset != 0) {
      operand(hex);
      return;
    }
    operand(register_text(soffset, 1));
    if (offset != 0) modifier("offset:{}", hex);
  }

  void local_memory() {
    if (row_.dst != OperandType::None) operand(vgpr(in_.field(Field::Dst), row_.dst));
    if (!row_.has(NoAddr)) operand(vgpr(in_.field(Field::Addr), OperandType::B32));
    const bool only_data = row_.has(NoAddr) && row_.dst == OperandType::None;
    if (row_.src[0] != OperandType::None) {
      const Field field = only_data && row_.name.starts_with("ds_gws") ? Field::Addr : Field::Data;
      operand(vgpr(in_.field(field), row_.src[0]));
    }
    if (row_.src[1] != OperandType::None) operand(vgpr(in_.field(Field::Data1), row_.src[1]));
    const uint32_t low = in_.field(Field::Offset), high = in_.field(Field::Offset1);
    if (row_.name.find("_2addr_") != std::string_view::npos) {
      if (low != 0) modifier("offset0:{}", low);
      if (high != 0) modifier("offset1:{}", high);
    } else if ((low | high) != 0) {
      modifier("offset:{}", low | high << 8);
    }
    flag(Field::Gds, "gds");
  }

  bool is_atomic() const { return row_.name.find("_atomic_") != std::string_view::npos; }

  void flat_memory() {
    const Format format = in_.format();
    const bool returns = row_.dst != OperandType::None &&
                         (!is_atomic() || in_.field(Field::Glc) != 0 || row_.has(AlwaysReturns));
    if (returns) operand(vgpr(in_.field(Field::Dst), row_.dst));
    const uint32_t saddr = in_.field(Field::Saddr);
    const bool no_saddr = canonical(saddr) == kNull || saddr == 0x7f;
    if (!row_.has(NoAddr)) operand(flat_address(no_saddr, saddr));
    if (row_.src[0] != OperandType::None) operand(vgpr(in_.field(Field::Data), row_.src[0]));
    if (format != Format::FLAT) {
      const uint32_t registers = format == Format::GLOBAL ? 2 : 1;
      operand(no_saddr ? "off" : sgpr(saddr, registers));
    }
    const BitRange range = (*in_.encoding)[Field::Offset];
    const uint32_t unused = 32u - range.width;
    const uint32_t raw = in_.field(Field::Offset);
    const auto offset = format == Format::FLAT ? static_cast<int32_t>(raw)
                                               : static_cast<int32_t>(raw << unused) >> unused;
    if (offset != 0) modifier("offset:{}", offset);
    flag(Field::Glc, "glc");
    flag(Field::Slc, "slc");
    flag(Field::Dlc, "dlc");
    flag(Field::Lds, "lds");
  }

  std::string flat_address(bool no_saddr, uint32_t saddr) const {
    const uint32_t address = in_.field(Field::Addr);
    if (in_.format() == Format::SCRATCH) {
      const bool used =
          in_.family == GfxFamily::Gfx10_3 ? no_saddr && saddr != 0x7f : in_.field(Field::Sve) != 0;
      return used ? vgpr(address, OperandType::B32) : "off";
    }
    const bool wide = in_.format() == Format::FLAT || no_saddr;
    return vgpr(address, wide ? OperandType::B64 : OperandType::B32);
  }

  void buffer_memory() {
    const bool plain = row_.dst == OperandType::None && row_.src[0] == OperandType::None;
    if (plain && row_.name.find("_lds_") == std::string_view::npos) return;  // BUFFER_GL0_INV
    const bool lds = in_.field(Field::Lds) != 0 || plain;
    if (!lds) {
      const OperandType type = row_.src[0] != OperandType::None ? row_.src[0] : row_.dst;
      const uint32_t registers = registers_of(type) + in_.field(Field::Tfe);
      operand(register_text(in_.field(Field::Data) + kVgpr0, registers));
    }
    const bool idxen = in_.field(Field::Idxen) != 0, offen = in_.field(Field::Offen) != 0;
    operand(idxen || offen ? register_text(in_.field(Field::Addr) + kVgpr0, idxen && offen ? 2 : 1)
                           : "off");
    operand(sgpr(in_.field(Field::Srsrc) * 4, 4));
    operand(source(in_.field(Field::Soffset), OperandType::B32));
    if (in_.format() == Format::MTBUF) modifier("format:{}", in_.field(Field::BufferFormat));
    if (idxen) modifier("idxen");
    if (offen) modifier("offen");
    const uint32_t offset = in_.field(Field::Offset);
    if (offset != 0) modifier("offset:{}", offset);
    flag(Field::Glc, "glc");
    flag(Field::Slc, "slc");
    flag(Field::Dlc, "dlc");
    flag(Field::Tfe, "tfe");
    flag(Field::Lds, "lds");
  }

  // Vector formats.

  void dual() {
    const uint32_t dst_x = in_.field(Field::Dst);
    dual_part(row_, dst_x, in_.field(Field::Src0), in_.field(Field::Src1));
    std::string first = fmt::format("{}", fmt::join(operands_, ", "));
    operands_.clear();
    const uint32_t dst_y = in_.field(Field::DstY) << 1 | (~dst_x & 1);
    dual_part(*in_.row_y, dst_y, in_.field(Field::SrcY0), in_.field(Field::SrcY1));
    std::string second = fmt::format("{}", fmt::join(operands_, ", "));
    operands_ = {fmt::format("{} :: {} {}", first, in_.row_y->name, second)};
  }

  void dual_part(const Row& row, uint32_t dst, uint32_t src0, uint32_t vsrc1) {
    operand(vgpr(dst, row.dst));
    operand(source(src0, row.src[0]));
    if (row.has(KMul)) operand(literal());
    if (row.src[1] != OperandType::None) operand(vgpr(vsrc1, row.src[1]));
    if (row.has(KAdd)) operand(literal());
  }

  void vector() {
    set_suffix();
    destination();
    std::array<uint32_t, 3> codes{in_.field(Field::Src0), in_.field(Field::Src1),
                                  in_.field(Field::Src2)};
    if (in_.encoding->words == 1) codes[1] += kVgpr0;
    if (in_.modifier != Modifier::None) modified_sources(codes);
    const bool wide = in_.encoding->words == 2;
    for (uint32_t i = 0; i < row_.sources(); ++i) {
      if (row_.src[i] == OperandType::Mask) {
        operand(mask(wide ? codes[i] : uint32_t{kVccLo}));
      } else if (i == 2 && row_.has(Acc)) {
        continue;
      } else if ((row_.has(KMul) && i == 1) || (row_.has(KAdd) && i == 2)) {
        operand(literal());
      } else {
        operand(modified_source(i, codes[row_.has(KMul) && i == 2 ? 1 : i]));
      }
    }
    vector_modifiers();
  }

  void set_suffix() {
    const bool short_row =
        row_.format == Format::VOP1 || row_.format == Format::VOP2 || row_.format == Format::VOPC;
    const bool dpp = in_.modifier == Modifier::Dpp16 || in_.modifier == Modifier::Dpp8;
    if (in_.modifier == Modifier::Sdwa || in_.modifier == Modifier::SdwaC) {
      suffix_ = "_sdwa";
    } else if (dpp) {
      suffix_ = in_.encoding->words == 2 ? "_e64_dpp" : "_dpp";
    } else if (short_row && in_.wide()) {
      suffix_ = "_e64";
    } else if (short_row && !row_.has(NoE64) && row_.sources() != 0) {
      suffix_ = "_e32";
    }
  }

  void destination() {
    const uint32_t field = in_.field(Field::Dst);
    switch (row_.dst) {
      case OperandType::None:
        break;
      case OperandType::Mask:
        if (in_.modifier == Modifier::SdwaC && in_.modifier_field(Field::SdwaSdstGiven) != 0) {
          operand(mask(in_.modifier_field(Field::Sdst)));
        } else {
          operand(mask(in_.wide() ? field : uint32_t{kVccLo}));
        }
        break;
      case OperandType::Sgpr:
        operand(sgpr(field, 1));
        break;
      default:
        operand(vgpr(field, row_.dst));
        break;
    }
    if (row_.has(CarryOut)) {
      operand(mask(in_.format() == Format::VOP3SD ? in_.field(Field::Sdst) : uint32_t{kVccLo}));
    }
  }

  void modified_sources(std::array<uint32_t, 3>& codes) const {
    const bool sdwa = in_.modifier == Modifier::Sdwa || in_.modifier == Modifier::SdwaC;
    codes[0] = in_.modifier_field(Field::ModSrc);
    if (!sdwa || in_.modifier_field(Field::SdwaScalar0) == 0) codes[0] += kVgpr0;
    if (sdwa && in_.encoding->has(Field::Src1)) {
      const bool scalar = in_.modifier_field(Field::SdwaScalar1) != 0;
      codes[1] = in_.field(Field::Src1) + (scalar ? 0 : uint32_t{kVgpr0});
    }
  }

  /// NEG and ABS of source `i`, wherever this encoding has them.
  std::pair<bool, bool> sign_modifiers(uint32_t i) const {
    if (in_.format() == Format::VOP3P) {
      const bool mix = row_.src[i] == OperandType::Mix;
      return {mix && (in_.field(Field::Neg) >> i & 1) != 0,
              mix && (in_.field(Field::NegHi) >> i & 1) != 0};
    }
    if (in_.encoding->words == 2) {
      return {(in_.field(Field::Neg) >> i & 1) != 0, (in_.field(Field::Abs) >> i & 1) != 0};
    }
    if (in_.modifier == Modifier::Dpp16 && i < 2) {
      const uint32_t bits = in_.modifier_field(Field::DppNegAbs) >> (2 * i);
      return {(bits & 1) != 0, (bits & 2) != 0};
    }
    if ((in_.modifier == Modifier::Sdwa || in_.modifier == Modifier::SdwaC) && i < 2) {
      const uint32_t bits = in_.modifier_field(i == 0 ? Field::SdwaNegAbs0 : Field::SdwaNegAbs1);
      return {(bits & 1) != 0, (bits & 2) != 0};
    }
    return {false, false};
  }

  /// NEG and ABS of other operands mean nothing; LLVM does not print them either.
  bool has_sign(uint32_t i) const {
    const OperandType type = row_.src[i];
    const bool select = row_.has(CarryIn) && !row_.has(CarryOut);
    const OperandKind kind = info(type).kind;
    if (kind == OperandKind::PackedFloat) return in_.format() != Format::VOP3P;
    return kind == OperandKind::Float ||
           (select && (type == OperandType::B32 || type == OperandType::B16));
  }

  std::string modified_source(uint32_t i, uint32_t code) const {
    OperandType type = row_.src[i];
    if (type == OperandType::Sgpr || type == OperandType::VgprOnly) type = OperandType::B32;
    std::string text = source(code, type);
    const auto [neg, abs] = has_sign(i) ? sign_modifiers(i) : std::pair{false, false};
    if (abs) text = fmt::format("|{}|", text);
    if (neg) {
      const bool number = !abs && !text.empty() && text[0] != 'v' && text[0] != 's';
      text = number ? fmt::format("neg({})", text) : fmt::format("-{}", text);
    }
    const bool sext = (in_.modifier == Modifier::Sdwa || in_.modifier == Modifier::SdwaC) &&
                      i < 2 &&
                      in_.modifier_field(i == 0 ? Field::SdwaSext0 : Field::SdwaSext1) != 0;
    return sext ? fmt::format("sext({})", text) : text;
  }

  template <class Bit>
  std::string bit_list(uint32_t count, Bit bit) const {
    std::string list;
    for (uint32_t i = 0; i < count; ++i) {
      list += fmt::format("{}{}", i == 0 ? "" : ",", bit(i) ? 1 : 0);
    }
    return list;
  }

  void vector_modifiers() {
    if (in_.format() == Format::VOP3P) {
      packed_modifiers();
    } else if (const uint32_t op_sel = in_.field(Field::OpSel); op_sel != 0 && has_op_sel(row_)) {
      const uint32_t sources = row_.sources();
      modifier("op_sel:[{}]", bit_list(sources + 1, [&](uint32_t i) {
                 return (op_sel >> (i == sources ? 3 : i) & 1) != 0;
               }));
    }
    const bool sdwa = in_.modifier == Modifier::Sdwa;
    const uint32_t omod = sdwa ? in_.modifier_field(Field::Omod) : in_.field(Field::Omod);
    const uint32_t clamp = sdwa ? in_.modifier_field(Field::Clamp) : in_.field(Field::Clamp);
    if (clamp != 0) modifier("clamp");
    constexpr std::array<std::string_view, 4> kOmod = {"", "mul:2", "mul:4", "div:2"};
    if (omod != 0 && info(row_.dst).kind == OperandKind::Float) modifier("{}", kOmod[omod]);
    if (in_.format() == Format::VINTERP) modifier("wait_exp:{}", in_.field(Field::WaitExp));
    if (in_.modifier == Modifier::Dpp8) dpp8_modifiers();
    if (in_.modifier == Modifier::Dpp16) dpp16_modifiers();
    if (in_.modifier == Modifier::Sdwa || in_.modifier == Modifier::SdwaC) sdwa_modifiers();
  }

  void packed_modifiers() {
    const uint32_t count = row_.sources();
    const uint32_t all = (1u << count) - 1;
    const bool mix = row_.src[0] == OperandType::Mix;
    const uint32_t op_sel = in_.field(Field::OpSel) & all;
    const uint32_t op_sel_hi = (in_.field(Field::OpSelHi) | in_.field(Field::OpSelHi2) << 2) & all;
    const auto list = [&](uint32_t bits) {
      return bit_list(count, [bits](uint32_t i) { return (bits >> i & 1) != 0; });
    };
    if (op_sel != 0) modifier("op_sel:[{}]", list(op_sel));
    if (op_sel_hi != (mix ? 0 : all)) modifier("op_sel_hi:[{}]", list(op_sel_hi));
    if (mix) return;
    const uint32_t neg = in_.field(Field::Neg) & all, neg_hi = in_.field(Field::NegHi) & all;
    if (neg != 0) modifier("neg_lo:[{}]", list(neg));
    if (neg_hi != 0) modifier("neg_hi:[{}]", list(neg_hi));
  }

  void dpp8_modifiers() {
    std::array<uint32_t, 8> lanes{};
    const uint32_t selectors = in_.modifier_field(Field::DppCtrl);
    for (uint32_t i = 0; i < 8; ++i) lanes[i] = selectors >> (3 * i) & 7;
    modifier("dpp8:[{}]", fmt::join(lanes, ","));
    if (in_.fetch_inactive()) modifier("fi:1");
  }

  void dpp16_modifiers() {
    const uint32_t control = in_.modifier_field(Field::DppCtrl);
    const uint32_t amount = control & 15;
    switch (control >> 4) {
      case 0x10:
        modifier("row_shl:{}", amount);
        break;
      case 0x11:
        modifier("row_shr:{}", amount);
        break;
      case 0x12:
        modifier("row_ror:{}", amount);
        break;
      case 0x14:
        modifier("{}", amount == 0 ? "row_mirror" : "row_half_mirror");
        break;
      case 0x15:
        modifier("row_share:{}", amount);
        break;
      case 0x16:
        modifier("row_xmask:{}", amount);
        break;
      default:
        modifier("quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3, control >> 4 & 3,
                 control >> 6 & 3);
        break;
    }
    modifier("row_mask:0x{:x}", in_.modifier_field(Field::DppRowMask));
    modifier("bank_mask:0x{:x}", in_.modifier_field(Field::DppBankMask));
    if (in_.modifier_field(Field::DppBoundCtrl) != 0) modifier("bound_ctrl:1");
    if (in_.fetch_inactive()) modifier("fi:1");
  }

  void sdwa_modifiers() {
    constexpr std::array<std::string_view, 8> kSelects = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                          "WORD_0", "WORD_1", "DWORD",  "7"};
    constexpr std::array<std::string_view, 4> kUnused = {"UNUSED_PAD", "UNUSED_SEXT",
                                                         "UNUSED_PRESERVE", "3"};
    if (in_.modifier == Modifier::Sdwa) {
      modifier("dst_sel:{}", kSelects[in_.modifier_field(Field::SdwaDstSel)]);
      modifier("dst_unused:{}", kUnused[in_.modifier_field(Field::SdwaDstUnused)]);
    }
    modifier("src0_sel:{}", kSelects[in_.modifier_field(Field::SdwaSel0)]);
    if (in_.encoding->has(Field::Src1)) {
      modifier("src1_sel:{}", kSelects[in_.modifier_field(Field::SdwaSel1)]);
    }
  }

  const Instruction& in_;
  const Row& row_;
  bool wave64_;
  std::string_view suffix_;
  std::vector<std::string> operands_;
  std::string modifiers_;
};

}  // namespace

std::string disassemble(const Instruction& instruction, bool wave64) {
  return Text(instruction, wave64).run();
}

std::string disassemble_or_dwords(GfxFamily family, std::span<const uint32_t> words, bool wave64) {
  if (const auto instruction = decode(family, words)) return disassemble(*instruction, wave64);
  std::string text;
  for (uint32_t word : words)
    text += fmt::format("{}.long {:#010x}", text.empty() ? "" : " ", word);
  return text;
}

}  // namespace doppel::isa
