#include "emulator/isa/lowering.h"

namespace doppel::isa {
namespace {

constexpr std::array kSourceFields = {Field::Src0, Field::Src1};

}  // namespace

void Lowering::lower_scalar() {
  if (in_.encoding->has(Field::Dst) && row_->dst != OperandType::None) {
    inst_.sdst = scalar_destination(aligned_sgpr(in_.field(Field::Dst), registers_of(row_->dst)));
    use_sgprs(inst_.sdst, registers_of(row_->dst));
  }
  if (in_.encoding->has(Field::Simm16)) set_immediate();
  uint32_t encoded = 0;
  for (uint32_t i = 0; i < row_->sources(); ++i) {
    if (info(row_->src[i]).kind == OperandKind::Immediate) {
      if (row_->format == Format::SOP1) inst_.literal = in_.field(Field::Src0);
      continue;
    }
    set_scalar_source(i, scalar_source_code(i, encoded), row_->src[i]);
  }
  if (special_) inst_.handler = code_.handlers().refresh_special;
}

void Lowering::set_immediate() {
  const uint32_t raw = in_.field(Field::Simm16);
  bool is_signed = false;
  for (OperandType type : row_->src) {
    is_signed |= type == OperandType::SImm16 || type == OperandType::Label;
  }
  inst_.literal = is_signed ? static_cast<uint32_t>(static_cast<int16_t>(raw)) : raw;
  inst_.is_branch = row_->src[0] == OperandType::Label;
}

/// The operand code of source `i`, or nullopt for a literal that the row demands. `encoded` counts
/// the sources taken from fields.
std::optional<uint32_t> Lowering::scalar_source_code(uint32_t i, uint32_t& encoded) const {
  if (row_->format == Format::SOPK) {
    if (row_->has(KAdd)) return std::nullopt;
    return in_.field(Field::Dst);
  }
  if ((row_->has(KMul) && i == 1) || (row_->has(KAdd) && i == 2)) return std::nullopt;
  if (encoded < kSourceFields.size() && in_.encoding->has(kSourceFields[encoded])) {
    return in_.field(kSourceFields[encoded++]);
  }
  return in_.field(Field::Dst);  // Acc, ReadsDst
}

void Lowering::set_scalar_source(uint32_t i, std::optional<uint32_t> code, OperandType type) {
  const auto constant = [&](uint64_t bits) {
    return Place{reinterpret_cast<int64_t>(code_.scalar_constant(bits)), Base::Absolute};
  };
  Place place;
  if (!code || *code == kLiteral) {
    place = constant(literal_constant(in_.literal(), type));
  } else if (is_inline_constant(*code)) {
    place = constant(inline_constant(*code, type));
  } else if (const auto special = special_place(*code)) {
    place = *special;
  } else {
    const uint32_t slot = aligned_sgpr(canonical(*code), registers_of(type));
    use_sgprs(slot, registers_of(type));
    unsupported_source_ |= !is_scalar_register(slot);
    place = {static_cast<int64_t>(offsetof(emu::WaveOperands, s) + (slot & 0x7f) * 4), Base::Wave};
  }
  inst_.source[i] = place.offset;
  inst_.base[i] = place.base;
}

}  // namespace doppel::isa
