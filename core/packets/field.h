// Where a field of a packet or register lies, per GPU family, parsed at compile time from the
// strings in the .inc tables:
//
//   "-"          absent in this family
//   "4"          the whole dword 4
//   "1[5:0]"     bits 5..0 of dword 1; "1[13]" is one bit
//   "3:4"        64 bits: dword 3 is the low half, dword 4 the high half
//   "3:4[47:7]"  the same, limited to bits 47..7; not shifted, because such a field is an address
//                whose low bits belong to somebody else
//
// A string that does not parse fails the build. All types are immutable values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/target.h"

namespace doppel::packets {

/// Columns of the tables: gfx9.4, gfx10.3, gfx11 (and 11.5), gfx12.
inline constexpr size_t kFamilyColumns = 4;

constexpr size_t family_column(GfxFamily family) {
  switch (family) {
    case GfxFamily::Gfx9_4:
      return 0;
    case GfxFamily::Gfx10_3:
      return 1;
    case GfxFamily::Gfx11:
    case GfxFamily::Gfx11_5:
      return 2;
    case GfxFamily::Gfx12:
      return 3;
  }
  return 2;
}

struct FieldLocation {
  uint64_t mask = 0;  // in the dword, or in the pair; 0 = absent
  uint8_t dword = 0;
  uint8_t shift = 0;  // always 0 for a pair
  bool pair = false;

  constexpr bool present() const { return mask != 0; }
  constexpr size_t end_dword() const { return dword + (pair ? 2u : 1u); }
  /// The largest value that fits.
  constexpr uint64_t max() const { return mask >> shift; }

  constexpr uint64_t extract(const uint32_t* dwords) const {
    uint64_t raw = dwords[dword];
    if (pair) raw |= static_cast<uint64_t>(dwords[dword + 1]) << 32;
    return (raw & mask) >> shift;
  }
  constexpr void deposit(uint32_t* dwords, uint64_t value) const {
    const uint64_t bits = (value << shift) & mask;
    dwords[dword] = static_cast<uint32_t>((dwords[dword] & ~mask) | bits);
    if (pair) {
      dwords[dword + 1] = static_cast<uint32_t>((dwords[dword + 1] & ~(mask >> 32)) | (bits >> 32));
    }
  }

  friend constexpr bool operator==(const FieldLocation&, const FieldLocation&) = default;
};

namespace detail {

/// Reads the location grammar; running into `fail` at compile time is the error message.
class LocationParser {
 public:
  consteval explicit LocationParser(std::string_view text) : text_(text) {}

  consteval FieldLocation parse() {
    if (text_ == "-") return {};
    FieldLocation location;
    location.dword = static_cast<uint8_t>(number(255));
    if (accept(':')) {
      if (number(255) != location.dword + 1u) fail("a pair is two consecutive dwords");
      location.pair = true;
    }
    const unsigned top = location.pair ? 63 : 31;
    unsigned high = top, low = 0;
    if (accept('[')) {
      high = low = number(top);
      if (accept(':')) low = number(high);
      if (!accept(']')) fail("']' expected");
    }
    if (at_ != text_.size()) fail("trailing characters");
    location.mask = (~uint64_t{0} >> (63 - high)) & (~uint64_t{0} << low);
    location.shift = static_cast<uint8_t>(location.pair ? 0 : low);
    return location;
  }

 private:
  static void fail(const char*) {}  // not constexpr: calling it fails the build

  consteval bool accept(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  consteval unsigned number(unsigned limit) {
    unsigned value = 0;
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<unsigned>(text_[at_++] - '0');
    }
    if (at_ == start) fail("a number is expected");
    if (value > limit) fail("a number is too large");
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace detail

/// One field's location in every family.
struct FieldColumns {
  std::array<FieldLocation, kFamilyColumns> location;

  constexpr const FieldLocation& in(GfxFamily family) const {
    return location[family_column(family)];
  }
};

consteval FieldColumns field_columns(std::string_view gfx9_4, std::string_view gfx10_3,
                                     std::string_view gfx11, std::string_view gfx12) {
  return {{detail::LocationParser(gfx9_4).parse(), detail::LocationParser(gfx10_3).parse(),
           detail::LocationParser(gfx11).parse(), detail::LocationParser(gfx12).parse()}};
}

/// What a field's value means; decides how it is checked and printed.
enum class FieldKind : uint8_t {
  Integer,
  Flag,
  Enum,
  Address,       // GPU virtual address, bytes
  Register,      // which register (dword offset)
  RegisterValue  // what is written to one particular register
};

/// Which window a register number in a packet counts from.
enum class RegisterBase : uint8_t { Absolute, Sh, Uconfig };

/// One named value of an enumeration.
struct EnumValue {
  std::string_view name;
  uint32_t value;
};

/// Type tags of the tables that are not enumerations.
struct U32 {};
struct U64 {};
struct Flag {};
/// A GPU virtual address in bytes, aligned to kAlign.
template <unsigned kAlign>
struct Address {};
/// A register as a dword offset from its base.
template <RegisterBase kBase>
struct Register {};
/// The value of COMPUTE_DISPATCH_INITIATOR, as dispatch packets carry it.
struct DispatchInitiator {};

template <class ValueType, FieldKind kind>
struct PlainFieldTraits {
  using Value = ValueType;
  static constexpr FieldKind kKind = kind;
  static constexpr uint32_t kAlign = 1;
  static constexpr RegisterBase kBase = RegisterBase::Absolute;
  static constexpr std::string_view kRegister = {};  // of a RegisterValue
};
template <class Type>  // an enumeration of the tables
struct FieldTraits : PlainFieldTraits<Type, FieldKind::Enum> {};
template <>
struct FieldTraits<U32> : PlainFieldTraits<uint32_t, FieldKind::Integer> {};
template <>
struct FieldTraits<U64> : PlainFieldTraits<uint64_t, FieldKind::Integer> {};
template <>
struct FieldTraits<Flag> : PlainFieldTraits<bool, FieldKind::Flag> {};
template <unsigned kBytes>
struct FieldTraits<Address<kBytes>> : PlainFieldTraits<uint64_t, FieldKind::Address> {
  static constexpr uint32_t kAlign = kBytes;
};
template <RegisterBase kWindow>
struct FieldTraits<Register<kWindow>> : PlainFieldTraits<uint32_t, FieldKind::Register> {
  static constexpr RegisterBase kBase = kWindow;
};

template <>
struct FieldTraits<DispatchInitiator> : PlainFieldTraits<uint32_t, FieldKind::RegisterValue> {
  static constexpr std::string_view kRegister = "COMPUTE_DISPATCH_INITIATOR";
};

template <class Type>
using FieldValue = typename FieldTraits<Type>::Value;

}  // namespace doppel::packets
