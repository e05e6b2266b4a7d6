// Registers that packets write, read and wait for. Every row of registers.inc becomes
//
//   regs::ComputePgmRsrc1          the register's value with its bit fields, read and written
//   regs::COMPUTE_PGM_RSRC1        its RegisterRow: name and address per family
//
// A register's address counts dwords from the start of the register space. SET_SH_REG and
// SET_UCONFIG_REG give it relative to a window: sh_offset, uconfig_offset.
#pragma once

#include <cstdint>
#include <span>

#include "core/packets/row.h"
#include "core/packets/words.h"

namespace doppel::regs {

using namespace packets;  // NOLINT(google-build-using-namespace): type tags of the tables

/// Windows of SET_SH_REG and SET_UCONFIG_REG: PACKET3_SET_*_REG_START of nvd.h and soc15d.h.
inline constexpr uint32_t kShBase = 0x2c00;
inline constexpr uint32_t kShEnd = 0x3000;
inline constexpr uint32_t kUconfigBase = 0xc000;

constexpr uint32_t base_address(RegisterBase base) {
  switch (base) {
    case RegisterBase::Sh:
      return kShBase;
    case RegisterBase::Uconfig:
      return kUconfigBase;
    case RegisterBase::Absolute:
      break;
  }
  return 0;
}

/// One register's value. Its accessors are those of the row.
class Value : public WordsArray<1> {
 public:
  constexpr explicit Value(GfxFamily family, uint32_t value = 0) : WordsArray(family) {
    dword(0) = value;
  }
  constexpr uint32_t value() const { return dwords()[0]; }
};

// clang-format off
#define REG(Type, NAME, ...)                     \
  template <class Words>                         \
  class Type##Fields : public Words {            \
   public:                                       \
    using Words::Words;
#define FIELD DOPPEL_FIELD_ACCESSORS
#define END(Type) }; using Type = Type##Fields<Value>;
#include "core/packets/registers.inc"
#undef REG
#undef FIELD
#undef END

#define REG(Type, NAME, ...) extern const RegisterRow& NAME;
#define FIELD(...)
#define END(Type)
#include "core/packets/registers.inc"
#undef REG
#undef FIELD
#undef END
// clang-format on

/// All registers, by table and address.
std::span<const RegisterRow> rows();
/// The register at an absolute dword address, or nullptr.
const RegisterRow* find_register(uint32_t address, GfxFamily family);
/// The register of that name, or nullptr.
const RegisterRow* find_register(std::string_view name);

/// The register number that SET_SH_REG takes. The family must have the register.
constexpr uint32_t sh_offset(const RegisterRow& row, GfxFamily family) {
  DOPPEL_ASSERT(row.in(family) >= kShBase && row.in(family) < kShEnd, row.name);
  return row.in(family)-kShBase;
}
/// The register number that SET_UCONFIG_REG takes. The family must have the register.
constexpr uint32_t uconfig_offset(const RegisterRow& row, GfxFamily family) {
  DOPPEL_ASSERT(row.in(family) >= kUconfigBase, row.name);
  return row.in(family)-kUconfigBase;
}

}  // namespace doppel::regs
