// The tables as data: what the generic validator, dumper and decoder walk. Rows come from pm4.inc,
// sdma.inc, aql.inc and regs.inc, the same lines that the typed accessors come from.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/packets/field.h"

namespace doppel::packets {

enum class Language : uint8_t { Pm4, Sdma, Aql };

std::string_view to_string(Language language);

/// The named values of the tables' enumeration `Type`; empty for every other type.
template <class Type>
constexpr std::span<const EnumValue> enum_values_of() {
  if constexpr (std::is_enum_v<Type>) {
    return enum_values(Type{});
  } else {
    return {};
  }
}

/// The vendor's name of `value`, or "" if the enumeration has none for it.
template <class Enum>
constexpr std::string_view name_of(Enum value) {
  for (const EnumValue& row : enum_values(Enum{})) {
    if (row.value == static_cast<uint32_t>(value)) return row.name;
  }
  return {};
}

struct Field {
  std::string_view name;
  FieldColumns columns;
  FieldKind kind = FieldKind::Integer;
  uint32_t align = 1;  // bytes, for addresses
  RegisterBase base = RegisterBase::Absolute;
  std::string_view register_name;     // whose value the field is
  std::span<const EnumValue> values;  // of an enumeration
  /// Whether the field exists in this very packet (an address of a register poll does not);
  /// nullptr: always.
  bool (*applies)(std::span<const uint32_t> dwords, GfxFamily family) = nullptr;
};

inline constexpr uint32_t kUnbounded = ~0u;

/// Dwords of a packet, header included: "8", "3+" (at least 3), "2|4" (either), "-" (absent in the
/// family).
struct Length {
  uint32_t min = 0;  // 0 = absent
  uint32_t max = 0;

  constexpr bool present() const { return min != 0; }
  constexpr bool accepts(uint32_t dwords) const {
    return max == kUnbounded ? dwords >= min : dwords == min || dwords == max;
  }
  /// Dwords that are not payload: an "N+" row whose minimum counts one payload dword keeps N-1.
  constexpr uint32_t fixed() const { return max == kUnbounded && min > 1 ? min - 1 : min; }
};

consteval Length parse_length(std::string_view text) {
  if (text == "-") return {};
  Length length;
  size_t at = 0;
  auto number = [&] {
    uint32_t value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      value = value * 10 + static_cast<uint32_t>(text[at++] - '0');
    }
    return value;
  };
  length.min = length.max = number();
  if (text.substr(at) == "+") {
    length.max = kUnbounded;
  } else if (text.substr(at, 1) == "|") {
    ++at;
    length.max = number();
  }
  return length;
}

struct LengthColumns {
  std::array<Length, kFamilyColumns> length;

  constexpr const Length& in(GfxFamily family) const { return length[family_column(family)]; }
};

/// How many dwords a builder must hold in any family, without an unbounded payload.
consteval uint32_t widest_fixed(const LengthColumns& columns) {
  uint32_t most = 0;
  for (const Length& length : columns.length) {
    const uint32_t dwords = length.max == kUnbounded ? length.fixed() : length.max;
    most = dwords > most ? dwords : most;
  }
  return most;
}

consteval LengthColumns length_columns(std::string_view gfx9_4, std::string_view gfx10_3,
                                       std::string_view gfx11, std::string_view gfx12) {
  return {{parse_length(gfx9_4), parse_length(gfx10_3), parse_length(gfx11), parse_length(gfx12)}};
}

/// A pair of dwords of a stream that holds an address although no field says so (values of
/// SET_SH_REG): the low dword, and how far the address is shifted right in the pair.
struct AddressMark {
  uint32_t dword = 0;
  uint8_t shift = 0;

  friend bool operator==(const AddressMark&, const AddressMark&) = default;
};

struct PacketRow {
  std::string_view name;  // vendor spelling: "RELEASE_MEM"
  Language language = Language::Pm4;
  uint16_t opcode = 0;
  uint16_t sub_opcode = 0;  // SDMA only
  LengthColumns length;
  std::span<const Field> fields;
  /// Dwords behind the fixed ones, as the packet's own count says (SDMA; nullptr: none, or the
  /// header counts them).
  uint32_t (*payload_dwords)(std::span<const uint32_t> dwords, GfxFamily family) = nullptr;
};

struct RegisterRow {
  std::string_view name;                           // "COMPUTE_PGM_RSRC1"
  std::array<uint32_t, kFamilyColumns> address{};  // absolute dword address; 0 = absent
  std::span<const Field> fields;

  constexpr uint32_t in(GfxFamily family) const { return address[family_column(family)]; }
};

}  // namespace doppel::packets

/// Expands one FIELD row to its table entry; inside a function so that `applies` may use `View`.
#define DOPPEL_FIELD_ROW(name, Type, ...)                                   \
  ::doppel::packets::Field{#name,                                           \
                           ::doppel::packets::field_columns(__VA_ARGS__),   \
                           ::doppel::packets::FieldTraits<Type>::kKind,     \
                           ::doppel::packets::FieldTraits<Type>::kAlign,    \
                           ::doppel::packets::FieldTraits<Type>::kBase,     \
                           ::doppel::packets::FieldTraits<Type>::kRegister, \
                           ::doppel::packets::enum_values_of<Type>(),       \
                           nullptr},
#define DOPPEL_FIELD_ROW_IF(Packet, name, Type, c0, c1, c2, c3, condition)          \
  ::doppel::packets::Field{#name,                                                   \
                           ::doppel::packets::field_columns(c0, c1, c2, c3),        \
                           ::doppel::packets::FieldTraits<Type>::kKind,             \
                           ::doppel::packets::FieldTraits<Type>::kAlign,            \
                           ::doppel::packets::FieldTraits<Type>::kBase,             \
                           ::doppel::packets::FieldTraits<Type>::kRegister,         \
                           ::doppel::packets::enum_values_of<Type>(),               \
                           [](std::span<const uint32_t> dwords, GfxFamily family) { \
                             const Packet::View p(dwords, family);                  \
                             return static_cast<bool>(condition);                   \
                           }},
