#include "emulator/isa/instruction.h"

namespace doppel::isa {
namespace {

Modifier modifier_of(const Instruction& inst) {
  const Format format = inst.format();
  const bool dpp_format = is_short_vector(format) || (inst.family != GfxFamily::Gfx10_3 &&
                                                      (inst.wide() || format == Format::VOP3P));
  if (!dpp_format || inst.row->sources() == 0) return Modifier::None;
  switch (inst.field(Field::Src0)) {
    case kDpp16:
      return inst.row->has(NoDpp) ? Modifier::None : Modifier::Dpp16;
    case kDpp8:
    case kDpp8Fi:
      return inst.row->has(NoDpp) ? Modifier::None : Modifier::Dpp8;
    case kSdwa:
      if (inst.family != GfxFamily::Gfx10_3 || !is_short_vector(format)) return Modifier::None;
      if (inst.row->has(NoSdwa)) return Modifier::None;
      return format == Format::VOPC ? Modifier::SdwaC : Modifier::Sdwa;
    default:
      return Modifier::None;
  }
}

bool reads_literal(const Instruction& inst) {
  if (inst.row->has(KMul) || inst.row->has(KAdd)) return true;
  if (inst.row_y != nullptr && (inst.row_y->has(KMul) || inst.row_y->has(KAdd))) return true;
  switch (inst.format()) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPC:
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3SD:
    case Format::VOP3P:
    case Format::VOPD:
      break;
    default:
      return false;
  }
  constexpr std::array kSources = {Field::Src0, Field::Src1, Field::Src2};
  const uint32_t count = inst.format() == Format::VOPD ? 1 : inst.row->sources();
  for (uint32_t i = 0; i < count; ++i) {
    // The second source of the short vector encodings is a bare VGPR number.
    if (i == 1 && is_short_vector(inst.format())) break;
    if (inst.encoding->has(kSources[i]) && inst.field(kSources[i]) == kLiteral) return true;
  }
  return inst.format() == Format::VOPD && inst.field(Field::SrcY0) == kLiteral;
}

bool is_source_code(uint32_t code, GfxFamily family) {
  if (code >= kVgpr0 || code <= kInlineMinus16) return true;
  if (code >= kSharedBase && code <= kPopsExitingWaveId) return true;
  if (code >= kInlineHalf && code <= kInlineInv2Pi) return true;
  if (code == kVccz || code == kExecz || code == kLdsDirect) {
    return family == GfxFamily::Gfx10_3 || code != kLdsDirect;
  }
  return code == kScc || code == kLiteral;
}

/// SDWA selects a byte, a half or all of a register.
bool selects_exist(const Instruction& inst) {
  constexpr uint32_t kReserved = 7;
  if (inst.modifier != Modifier::Sdwa && inst.modifier != Modifier::SdwaC) return true;
  const bool destination = inst.modifier == Modifier::Sdwa;
  return inst.modifier_field(Field::SdwaSel0) != kReserved &&
         inst.modifier_field(Field::SdwaSel1) != kReserved &&
         !(destination && inst.modifier_field(Field::SdwaDstSel) == kReserved);
}

/// What the fields must be beside the opcode: operand codes that exist, unused sources 0. LLVM's
/// rules; hardware may ignore some of the bits. OP_SEL is ignored where it has no meaning.
bool is_well_formed(const Instruction& inst) {
  const Row& row = *inst.row;
  constexpr std::array kSources = {Field::Src0, Field::Src1, Field::Src2};
  const bool vector =
      inst.wide() || inst.format() == Format::VOP3P || is_short_vector(inst.format());
  for (uint32_t i = 0; vector && i < kSources.size(); ++i) {
    if (!inst.encoding->has(kSources[i])) continue;
    if (i == 1 && inst.encoding->words == 1) continue;  // a bare VGPR number
    const uint32_t code = inst.field(kSources[i]);
    const bool used = i < row.sources() && !(i == 2 && row.has(Acc));
    if (!used && inst.wide() && i > 0 && code != 0) return false;
    if (i == 0 && inst.modifier != Modifier::None) continue;
    if (used && !is_source_code(code, inst.family)) return false;
  }
  const bool scalar_dst = row.dst == OperandType::Mask || row.dst == OperandType::Sgpr;
  if (vector && scalar_dst && inst.encoding->has(Field::Dst) && inst.field(Field::Dst) > kExecHi) {
    return false;
  }
  if (!selects_exist(inst)) return false;
  const bool buffer = inst.format() == Format::MUBUF || inst.format() == Format::MTBUF;
  return !buffer || inst.field(Field::Soffset) != kLiteral;
}

const Row* row_for(const Encoding& encoding, GfxFamily family, std::span<const uint32_t> words) {
  if (encoding.format == Format::VOPD) {
    return find_row(family, Format::VOPD, encoding[Field::OpX].extract(words));
  }
  uint32_t opcode = encoding[Field::Op].extract(words);
  if (encoding.has(Field::OpHigh)) opcode |= encoding[Field::OpHigh].extract(words) << 3;
  return find_row(family, encoding.format, opcode);
}

}  // namespace

bool Instruction::fetch_inactive() const {
  if (modifier == Modifier::Dpp8) return field(Field::Src0) == kDpp8Fi;
  return modifier == Modifier::Dpp16 && modifier_field(Field::DppFetchInactive) != 0;
}

std::optional<Instruction> decode(GfxFamily family, std::span<const uint32_t> words) {
  if (words.empty()) return std::nullopt;
  for (const Encoding& encoding : encodings(family)) {
    if ((words[0] & encoding.fixed_mask) != encoding.fixed_bits) continue;
    if (words.size() < encoding.words) continue;
    const Row* row = row_for(encoding, family, words);
    if (row == nullptr) continue;
    Instruction inst{.row = row, .encoding = &encoding, .family = family, .dwords = encoding.words};
    inst.words[0] = words[0];
    if (encoding.words > 1) inst.words[1] = words[1];
    if (encoding.format == Format::VOPD) {
      inst.row_y = find_row(family, Format::VOPD, inst.field(Field::OpY));
      if (inst.row_y == nullptr) return std::nullopt;
    }
    inst.modifier = modifier_of(inst);
    inst.has_literal = inst.modifier == Modifier::None && reads_literal(inst);
    if (inst.modifier != Modifier::None || inst.has_literal) {
      if (words.size() <= inst.dwords) return std::nullopt;
      inst.words[inst.dwords] = words[inst.dwords];
      ++inst.dwords;
    }
    if (!is_well_formed(inst)) return std::nullopt;
    return inst;
  }
  return std::nullopt;
}

}  // namespace doppel::isa
