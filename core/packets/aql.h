// AQL: the packet language of HSA queues. Every packet of aql.inc becomes a builder
// (aql::KernelDispatch), a view, field locations and an Id, exactly as in pm4.h. The same 64 bytes
// as C++ structs, for rings in memory, are in core/abi/hsa_aql.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/packets/enums.h"
#include "core/packets/row.h"
#include "core/packets/words.h"

namespace doppel::aql {

using namespace packets;  // NOLINT(google-build-using-namespace): type tags of the tables

inline constexpr size_t kPacketDwords = 16;

// clang-format off
#define ENUM DOPPEL_ENUM_BEGIN
#define VALUE DOPPEL_ENUM_VALUE
#define END_ENUM DOPPEL_ENUM_END
#include "core/packets/aql_enums.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM
#define ENUM DOPPEL_ENUM_TABLE_BEGIN
#define VALUE DOPPEL_ENUM_TABLE_VALUE
#define END_ENUM DOPPEL_ENUM_TABLE_END
#include "core/packets/aql_enums.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM
// clang-format on

/// The packets of aql.inc, in its order; Unknown is every other header type or vendor format.
enum class Id : uint8_t {
#define PACKET(Type, ...) Type,
#define FIELD(...)
#define END(Type)
#include "core/packets/aql.inc"
#undef PACKET
#undef FIELD
#undef END
  Unknown
};

/// The first dword of a packet: the header, and the format of a vendor-specific one.
struct Header {
  uint32_t value = 0;

  constexpr uint32_t type() const { return value & 0xff; }
  constexpr uint32_t amd_format() const { return type() == 0 ? value >> 16 & 0xff : 0; }
};

template <uint32_t kType, uint32_t kFormat>
class Builder : public WordsArray<kPacketDwords> {
 public:
  constexpr explicit Builder(GfxFamily family) : WordsArray(family) {
    dword(0) = kType | kFormat << 16;
  }
};

// clang-format off
#define PACKET(Type, NAME, type, format, ...)                         \
  inline constexpr uint32_t k##Type##Code = type, k##Type##Format = format; \
  template <class Words>                                              \
  class Type##Fields : public Words {                                 \
   public:                                                            \
    using Words::Words;
#define FIELD DOPPEL_FIELD_ACCESSORS
#define END(Type)                                                                       \
  };                                                                                    \
  class Type : public Type##Fields<Builder<k##Type##Code, k##Type##Format>> {           \
   public:                                                                              \
    using View = Type##Fields<WordsView>;                                               \
    static constexpr Id kId = Id::Type;                                                 \
    static constexpr View view(std::span<const uint32_t> dwords, GfxFamily family) {    \
      return View(dwords, family);                                                      \
    }                                                                                   \
    using Type##Fields::Type##Fields;                                                   \
  };
#include "core/packets/aql.inc"
#undef PACKET
#undef FIELD
#undef END
// clang-format on

/// The row of a header type (and vendor format), or nullptr for one that aql.inc does not have.
const PacketRow* find_row(uint32_t type, uint32_t amd_format);
/// The rows of aql.inc, indexed by Id.
std::span<const PacketRow> rows();

}  // namespace doppel::aql
