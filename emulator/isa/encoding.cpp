#include "emulator/isa/encoding.h"

#include <string_view>

namespace doppel::isa {
namespace {

constexpr std::array kLetters = {
#define FIELD(letter, name) letter,
#include "emulator/isa/encodings.inc"
#undef FIELD
};

// Reached only in a malformed row, where it makes the constant expression ill-formed.
[[maybe_unused]] void bit_string_is_malformed(const char*) {}

consteval size_t field_index(char letter) {
  for (size_t i = 0; i < kLetters.size(); ++i) {
    if (kLetters[i] == letter) return i;
  }
  bit_string_is_malformed("unknown field letter");
  return 0;
}

consteval void parse_dword(Encoding& encoding, uint8_t word, std::string_view bits) {
  int position = 32;
  for (char c : bits) {
    if (c == ' ') continue;
    if (--position < 0) bit_string_is_malformed("more than 32 bits");
    const uint32_t bit = uint32_t{1} << position;
    if (c == '0' || c == '1') {
      if (word != 0) bit_string_is_malformed("fixed bits belong to dword 0");
      encoding.fixed_mask |= bit;
      if (c == '1') encoding.fixed_bits |= bit;
    } else if (c == '.') {
      encoding.reserved[word] |= bit;
    } else {
      BitRange& range = encoding.fields[field_index(c)];
      if (range.width != 0 && (range.word != word || range.shift != position + 1)) {
        bit_string_is_malformed("a field is in two pieces");
      }
      range = {word, static_cast<uint8_t>(position), static_cast<uint8_t>(range.width + 1)};
    }
  }
  if (position != 0) bit_string_is_malformed("fewer than 32 bits");
}

consteval Encoding parse(Format format, std::string_view first, std::string_view second) {
  Encoding encoding;
  encoding.format = format;
  parse_dword(encoding, 0, first);
  if (!second.empty()) {
    encoding.words = 2;
    parse_dword(encoding, 1, second);
  }
  return encoding;
}

enum Families : uint8_t { Rdna2 = 1, Rdna3 = 2, Rdna = Rdna2 | Rdna3 };

template <Families kFamily>
consteval size_t count_encodings() {
  size_t count = 0;
#define ENCODING(format, families, first, second) count += ((families)&kFamily) != 0;
#include "emulator/isa/encodings.inc"
#undef ENCODING
  return count;
}

template <Families kFamily>
consteval auto parse_encodings() {
  std::array<Encoding, count_encodings<kFamily>()> table{};
  size_t next = 0;
#define ENCODING(format, families, first, second) \
  if (((families)&kFamily) != 0) table[next++] = parse(Format::format, first, second);
#include "emulator/isa/encodings.inc"
#undef ENCODING
  return table;
}

constexpr auto kRdna2 = parse_encodings<Rdna2>();
constexpr auto kRdna3 = parse_encodings<Rdna3>();

constexpr std::array kModifiers = {
    Encoding{},
#define MODIFIER(name, bits) parse(Format::VOP3, bits, ""),
#include "emulator/isa/encodings.inc"
#undef MODIFIER
};

constexpr std::array<std::string_view, kFormatCount> kFormatNames = {
    "SOP1", "SOPC",    "SOPP", "SOPK", "SOP2", "VOPC",    "VOP1",   "VOP2",  "VOP3P", "VOP3",
    "VOPD", "VINTERP", "SMEM", "DS",   "FLAT", "SCRATCH", "GLOBAL", "MUBUF", "MTBUF", "VOP3SD"};

}  // namespace

std::string_view to_string(Format format) {
  return kFormatNames[static_cast<size_t>(format)];
}

std::span<const Encoding> encodings(GfxFamily family) {
  switch (family) {
    case GfxFamily::Gfx10_3:
      return kRdna2;
    case GfxFamily::Gfx11:
    case GfxFamily::Gfx11_5:
      return kRdna3;
    default:
      return {};
  }
}

const Encoding* find_encoding(GfxFamily family, Format format) {
  for (const Encoding& encoding : encodings(family)) {
    if (encoding.format == format) return &encoding;
  }
  return nullptr;
}

const Encoding& modifier_encoding(Modifier modifier) {
  return kModifiers[static_cast<size_t>(modifier)];
}

}  // namespace doppel::isa
