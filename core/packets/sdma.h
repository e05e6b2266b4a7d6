// SDMA: the packet language of the copy engines. Every packet of sdma.inc becomes a builder
// (sdma::Fence), a view (sdma::Fence::View), field locations and an Id, exactly as in pm4.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/packets/enums.h"
#include "core/packets/row.h"
#include "core/packets/words.h"

namespace doppel::sdma {

using namespace packets;  // NOLINT(google-build-using-namespace): type tags of the tables

// clang-format off
#define ENUM DOPPEL_ENUM_BEGIN
#define VALUE DOPPEL_ENUM_VALUE
#define END_ENUM DOPPEL_ENUM_END
#include "core/packets/sdma_enums.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM
#define ENUM DOPPEL_ENUM_TABLE_BEGIN
#define VALUE DOPPEL_ENUM_TABLE_VALUE
#define END_ENUM DOPPEL_ENUM_TABLE_END
#include "core/packets/sdma_enums.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM
// clang-format on

/// The packets of sdma.inc, in its order; Unknown is every other op and sub-op.
enum class Id : uint8_t {
#define PACKET(Type, ...) Type,
#define FIELD(...)
#define FIELD_IF(...)
#define PAYLOAD(...)
#define END(Type)
#include "core/packets/sdma.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef PAYLOAD
#undef END
  Unknown
};

/// The first dword of a packet.
struct Header {
  uint32_t value = 0;

  constexpr uint32_t op() const { return value & 0xff; }
  constexpr uint32_t sub_op() const { return value >> 8 & 0xff; }
};

template <uint32_t kOp, uint32_t kSubOp, size_t kCapacity>
class Builder : public WordsArray<kCapacity> {
 public:
  constexpr Builder(GfxFamily family, size_t size) : WordsArray<kCapacity>(family, size) {
    this->dword(0) = kOp | kSubOp << 8;
  }
  /// What follows the fixed dwords; the packet's count must match. Last in a chain of setters.
  constexpr Builder& payload(std::span<const uint32_t> dwords) {
    this->attach(dwords);
    return *this;
  }
  using WordsArray<kCapacity>::payload;
};

// clang-format off
#define PACKET(Type, NAME, op, sub, ...)                                        \
  inline constexpr LengthColumns k##Type##Length = length_columns(__VA_ARGS__); \
  inline constexpr uint32_t k##Type##Op = op, k##Type##SubOp = sub;             \
  template <class Words>                                                        \
  class Type##Fields : public Words {                                           \
   public:                                                                      \
    using Words::Words;
#define FIELD DOPPEL_FIELD_ACCESSORS
#define FIELD_IF(name, Type, c0, c1, c2, c3, ...) DOPPEL_FIELD_ACCESSORS(name, Type, c0, c1, c2, c3)
#define PAYLOAD(...)                            \
  constexpr uint32_t payload_dwords() const {   \
    const auto& p = *this;                      \
    return __VA_ARGS__;                         \
  }
#define END(Type)                                                                           \
  };                                                                                        \
  class Type : public Type##Fields<Builder<k##Type##Op, k##Type##SubOp,                     \
                                           widest_fixed(k##Type##Length)>> {                \
   public:                                                                                  \
    using View = Type##Fields<WordsView>;                                                   \
    static constexpr Id kId = Id::Type;                                                     \
    static constexpr View view(std::span<const uint32_t> dwords, GfxFamily family) {        \
      return View(dwords, family);                                                          \
    }                                                                                       \
    /* Of the family's shortest form, all fields 0. */                                      \
    constexpr explicit Type(GfxFamily family)                                               \
        : Type##Fields(family, k##Type##Length.in(family).fixed()) {}                        \
    /* Of `size` fixed dwords, where the row allows several. */                             \
    constexpr Type(GfxFamily family, size_t size) : Type##Fields(family, size) {}           \
  };
#include "core/packets/sdma.inc"
#undef PACKET
#undef FIELD
#undef FIELD_IF
#undef PAYLOAD
#undef END
// clang-format on

/// The row of `op` and `sub_op`, or nullptr for a packet that sdma.inc does not have.
const PacketRow* find_row(uint32_t op, uint32_t sub_op);
/// The rows of sdma.inc, indexed by Id.
std::span<const PacketRow> rows();
/// The vendor's name of an op ("PTEPDE"), or "" if it has none.
std::string_view op_name(uint32_t op);

/// RETRY_COUNT of a POLL_REGMEM that waits until its condition holds.
inline constexpr uint32_t kPollForEver = 0xfff;

/// Bytes that a CONSTANT_FILL writes: its count is bytes minus one element.
constexpr uint64_t fill_bytes(uint32_t count, FillSize size) {
  const uint32_t shift = static_cast<uint32_t>(size);
  return (static_cast<uint64_t>(count) >> shift << shift) + (uint64_t{1} << shift);
}

}  // namespace doppel::sdma
