#include "emulator/isa/lowering.h"

namespace doppel::isa {
namespace {

uint32_t sign_extended(uint32_t value, uint32_t width) {
  const uint32_t unused = 32 - width;
  return static_cast<uint32_t>(static_cast<int32_t>(value << unused) >> unused);
}

}  // namespace

void Lowering::lower_smem() {
  inst_.sdst = scalar_destination(aligned_sgpr(in_.field(Field::Dst), registers_of(row_->dst)));
  use_sgprs(inst_.sdst, registers_of(row_->dst));
  const uint32_t sbase = in_.field(Field::Sbase) * 2;
  inst_.saddr = static_cast<uint16_t>(aligned_sgpr(sbase, registers_of(row_->src[0])));
  inst_.soffset = static_cast<uint16_t>(canonical(in_.field(Field::Soffset)));
  inst_.literal = sign_extended(in_.field(Field::Offset), (*in_.encoding)[Field::Offset].width);
  inst_.site = code_.new_site();
  set_cache_flags();
}

void Lowering::set_cache_flags() {
  // SLC and DLC are hints for caches that are not there.
  constexpr std::array<std::pair<Field, uint16_t>, 6> kFlags = {{{Field::Glc, kGlc},
                                                                 {Field::Tfe, kTfe},
                                                                 {Field::Idxen, kIdxen},
                                                                 {Field::Offen, kOffen},
                                                                 {Field::Lds, kLds},
                                                                 {Field::Gds, kGds}}};
  for (const auto& [field, flag] : kFlags) {
    if (in_.field(field) != 0) inst_.flags |= flag;
  }
}

void Lowering::lower_vector_memory(Scope scope) {
  set_cache_flags();
  inst_.site = code_.new_site();
  const Field destination = in_.encoding->has(Field::Dst) ? Field::Dst : Field::Data;
  set_vdst(in_.field(destination), row_->dst);
  inst_.address = static_cast<uint16_t>(in_.field(Field::Addr));
  inst_.data = static_cast<uint16_t>(in_.field(Field::Data));
  inst_.data1 = static_cast<uint16_t>(in_.field(Field::Data1));
  use_vgprs(inst_.data, registers_of(row_->src[0]));
  use_vgprs(inst_.data1, registers_of(row_->src[1]));
  switch (row_->format) {
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
  if (code_.options().wave64 && scope == Scope::Lanes) inst_.handler = code_.handlers().halves;
}

void Lowering::lower_buffer() {
  inst_.literal = in_.field(Field::Offset);
  inst_.saddr = static_cast<uint16_t>(in_.field(Field::Srsrc) * 4);
  set_scalar_source(0, in_.field(Field::Soffset), OperandType::B32);
  if (row_->format == Format::MTBUF) {
    inst_.data1 = static_cast<uint16_t>(in_.field(Field::BufferFormat));
  }
  use_vgprs(inst_.address, ((inst_.flags & kIdxen) != 0) + ((inst_.flags & kOffen) != 0));
}

void Lowering::lower_flat() {
  constexpr uint32_t kNoSaddr = 0x7f;  // gfx10.3: no scalar base, and no VGPR either
  const uint32_t width = (*in_.encoding)[Field::Offset].width;
  const uint32_t offset = in_.field(Field::Offset);
  inst_.literal = row_->format == Format::FLAT ? offset : sign_extended(offset, width);
  const uint32_t saddr = in_.field(Field::Saddr);
  const bool scalar_base =
      row_->format != Format::FLAT && canonical(saddr) != kNull && saddr != kNoSaddr;
  inst_.saddr = static_cast<uint16_t>(scalar_base ? canonical(saddr) : uint32_t{kNull});
  const bool scratch_vaddr = in_.family == GfxFamily::Gfx10_3 ? !scalar_base && saddr != kNoSaddr
                                                              : in_.field(Field::Sve) != 0;
  if (row_->format == Format::SCRATCH && !scratch_vaddr) return;
  inst_.flags |= kVaddr;
  const bool wide = row_->format != Format::SCRATCH && !scalar_base;
  use_vgprs(inst_.address, wide ? 2 : 1);
}

}  // namespace doppel::isa
