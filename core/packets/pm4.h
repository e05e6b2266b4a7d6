// PM4: the packet language of the compute micro engine. Every packet of pm4.inc becomes
//
//   pm4::ReleaseMem               a packet under construction, with fluent setters
//   pm4::ReleaseMem::View         the same accessors over dwords somewhere else
//   pm4::ReleaseMem::view(...)    makes one
//   pm4::ReleaseMem::address_field  where a field lies, for patching
//   pm4::Id::ReleaseMem           what a decoded packet is, to switch on
//
// and a PacketRow for the generic decoder, dumper and validator. Value types; thread-compatible.
#pragma once

#include <cstdint>
#include <span>

#include "core/packets/enums.h"
#include "core/packets/row.h"
#include "core/packets/words.h"

namespace doppel::pm4 {

using namespace packets;  // NOLINT(google-build-using-namespace): type tags of the tables

// clang-format off
#define ENUM DOPPEL_ENUM_BEGIN
#define VALUE DOPPEL_ENUM_VALUE
#define END_ENUM DOPPEL_ENUM_END
#include "core/packets/pm4_enums.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM
#define ENUM DOPPEL_ENUM_TABLE_BEGIN
#define VALUE DOPPEL_ENUM_TABLE_VALUE
#define END_ENUM DOPPEL_ENUM_TABLE_END
#include "core/packets/pm4_enums.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM
// clang-format on

/// The packets of pm4.inc, in its order; Unknown is every other opcode.
enum class Id : uint8_t {
#define PACKET(Type, ...) Type,
#define FIELD(...)
#define FIELD_IF(...)
#define END(Type)
#include "core/packets/pm4.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef END
  Unknown
};

/// The first dword of a packet.
struct Header {
  uint32_t value = 0;

  constexpr uint32_t type() const { return value >> 30; }
  constexpr uint32_t opcode() const { return value >> 8 & 0xff; }
  /// Dwords of a type-3 packet, the header included. Count 0x3fff is the header alone, which only
  /// NOP may be.
  constexpr uint32_t dwords() const {
    const uint32_t count = value >> 16 & 0x3fff;
    return count == 0x3fff ? 1 : count + 2;
  }
  constexpr bool predicate() const { return value & 1; }
  /// 1: the packet concerns compute (ignored by a compute queue).
  constexpr uint32_t shader_type() const { return value >> 1 & 1; }
  constexpr bool reset_filter_cam() const { return value >> 2 & 1; }
};

/// Bits that no type-3 header uses.
inline constexpr uint32_t kHeaderReserved = 0xf8;

constexpr uint32_t type3_header(uint32_t opcode, size_t dwords) {
  const auto count = static_cast<uint32_t>(dwords == 1 ? 0x3fff : dwords - 2);
  return 3u << 30 | (count & 0x3fff) << 16 | opcode << 8;
}
inline constexpr size_t kMaxDwords = 0x3fff + 1;  // the largest count but one

/// A one-dword filler (type 2).
inline constexpr uint32_t kType2Filler = 2u << 30;

template <uint32_t kOpcode, size_t kCapacity>
class Builder : public WordsArray<kCapacity> {
 public:
  constexpr Builder(GfxFamily family, size_t size) : WordsArray<kCapacity>(family, size) {
    this->dword(0) = type3_header(kOpcode, size);
  }

  /// What follows the fixed dwords; the header counts it. Last in a chain of setters.
  constexpr Builder& payload(std::span<const uint32_t> dwords) {
    DOPPEL_ASSERT(this->dwords().size() + dwords.size() <= kMaxDwords, "the payload is too long");
    this->attach(dwords);
    this->dword(0) = type3_header(kOpcode, this->dwords().size() + dwords.size());
    return *this;
  }
  using WordsArray<kCapacity>::payload;
};

// clang-format off
#define PACKET(Type, NAME, code, ...)                                           \
  inline constexpr LengthColumns k##Type##Length = length_columns(__VA_ARGS__); \
  inline constexpr uint32_t k##Type##Opcode = code;                             \
  template <class Words>                                                        \
  class Type##Fields : public Words {                                           \
   public:                                                                      \
    using Words::Words;
#define FIELD DOPPEL_FIELD_ACCESSORS
#define FIELD_IF(name, Type, c0, c1, c2, c3, ...) DOPPEL_FIELD_ACCESSORS(name, Type, c0, c1, c2, c3)
#define END(Type)                                                                           \
  };                                                                                        \
  class Type                                                                                \
      : public Type##Fields<Builder<k##Type##Opcode, widest_fixed(k##Type##Length)>> {      \
   public:                                                                                  \
    using View = Type##Fields<WordsView>;                                                   \
    static constexpr Id kId = Id::Type;                                                     \
    static constexpr View view(std::span<const uint32_t> dwords, GfxFamily family) {        \
      return View(dwords, family);                                                          \
    }                                                                                       \
    /* Of the family's shortest form, all fields 0. */                                      \
    constexpr explicit Type(GfxFamily family)                                               \
        : Type##Fields(family, k##Type##Length.in(family).fixed()) {}                       \
    /* Of `size` fixed dwords, where the row allows several. */                             \
    constexpr Type(GfxFamily family, size_t size) : Type##Fields(family, size) {}           \
  };
#include "core/packets/pm4.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef END
// clang-format on

/// The row of `opcode`, or nullptr for one that pm4.inc does not have.
const PacketRow* find_row(uint32_t opcode);
/// The rows of pm4.inc, indexed by Id.
std::span<const PacketRow> rows();
/// The vendor's name of any type-3 opcode of the family ("SET_CONTEXT_REG"), or "" if it has none.
std::string_view opcode_name(uint32_t opcode, GfxFamily family);

}  // namespace doppel::pm4
