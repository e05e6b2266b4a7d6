// Encoding: where the fields of an instruction format lie in its dwords. The rows of encodings.inc,
// parsed at compile time; a malformed bit string does not build.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/target.h"

namespace doppel::isa {

enum class Format : uint8_t {
  SOP1,
  SOPC,
  SOPP,
  SOPK,
  SOP2,
  VOPC,
  VOP1,
  VOP2,
  VOP3P,
  VOP3,
  VOPD,
  VINTERP,
  SMEM,
  DS,
  FLAT,
  SCRATCH,
  GLOBAL,
  MUBUF,
  MTBUF,
  VOP3SD,  // the VOP3 encoding with a scalar destination; rows stand under VOP3 or VOP2
};
inline constexpr size_t kFormatCount = 20;

std::string_view to_string(Format format);

/// The 32-bit vector formats, which VOP3 and the modifier dwords extend.
constexpr bool is_short_vector(Format format) {
  return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
}

enum class Field : uint8_t {
#define FIELD(letter, name) name,
#include "emulator/isa/encodings.inc"
#undef FIELD
};
inline constexpr size_t kFieldCount = 0
#define FIELD(letter, name) +1
#include "emulator/isa/encodings.inc"
#undef FIELD
    ;

/// A field's place: `width` bits from bit `shift` of dword `word`. Width 0: the format lacks it.
struct BitRange {
  uint8_t word = 0;
  uint8_t shift = 0;
  uint8_t width = 0;

  constexpr uint32_t extract(std::span<const uint32_t> words) const {
    return width == 0 ? 0 : (words[word] >> shift) & ((uint64_t{1} << width) - 1);
  }
};

struct Encoding {
  Format format = Format::SOP1;
  uint8_t words = 1;
  uint32_t fixed_mask = 0;  // bits of dword 0 that identify the format, and their value
  uint32_t fixed_bits = 0;
  std::array<uint32_t, 2> reserved{};  // '.' bits
  std::array<BitRange, kFieldCount> fields{};

  constexpr const BitRange& operator[](Field field) const {
    return fields[static_cast<size_t>(field)];
  }
  bool has(Field field) const { return (*this)[field].width != 0; }
};

/// The encodings of a family, most specific first; empty for families without tables.
std::span<const Encoding> encodings(GfxFamily family);

/// The encoding of `format` in `family`, or nullptr.
const Encoding* find_encoding(GfxFamily family, Format format);

/// The dword behind the instruction proper that modifies its sources.
enum class Modifier : uint8_t { None, Dpp16, Dpp8, Sdwa, SdwaC };
const Encoding& modifier_encoding(Modifier modifier);

}  // namespace doppel::isa
