// Packet: one packet found in a stream, and next_packet, which finds it. Nothing is copied: a
// Packet points into the caller's dwords. A packet that is cut short, unknown or wrongly counted
// says so and never lets the cursor slide into its middle silently.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/packets/aql.h"
#include "core/packets/pm4.h"
#include "core/packets/row.h"
#include "core/packets/sdma.h"

namespace doppel::packets {

enum class ProblemKind : uint8_t {
  Truncated,       // the stream ends inside the packet
  UnknownPacket,   // no row for the opcode
  AbsentInFamily,  // a row, but the family has no such packet
  BadHeader,       // the header is not one of a packet
  BadCount,        // a length that the packet cannot have
  ReservedBits,    // bits that no field of the packet uses are set
  UnknownValue,    // an enumeration's value without a name
  Misaligned,      // an address below its alignment
  Lint,            // a rule of lint.inc
};

std::string_view to_string(ProblemKind kind);

enum class Severity : uint8_t { Note, Warning, Error };

std::string_view to_string(Severity severity);

/// Something wrong in a packet. The message is a full sentence with the value in parentheses.
struct Problem {
  ProblemKind kind = ProblemKind::BadHeader;
  Severity severity = Severity::Error;
  uint32_t dword = 0;      // in the packet
  std::string_view field;  // name in the row, or ""
  std::string_view rule;   // of a Lint problem
  std::string message;
};

struct Packet {
  Language language = Language::Pm4;
  GfxFamily family = GfxFamily::Gfx11;
  const PacketRow* row = nullptr;    // nullptr: unknown
  uint32_t size = 0;                 // dwords that the packet claims to have; 0: cannot be known
  std::span<const uint32_t> dwords;  // the packet, or what there is of it
  std::optional<Problem> error;      // why it must not be executed; empty: well-formed

  bool ok() const { return !error; }
  /// "RELEASE_MEM"; for an unknown one the vendor's name of the opcode, or "PM4 opcode 0xff".
  std::string name() const;

  /// The Id to switch on; Unknown if the packet is of another language or has no row.
  pm4::Id pm4_id() const { return id<pm4::Id>(Language::Pm4, pm4::rows()); }
  sdma::Id sdma_id() const { return id<sdma::Id>(Language::Sdma, sdma::rows()); }
  aql::Id aql_id() const { return id<aql::Id>(Language::Aql, aql::rows()); }

  /// The packet's typed accessors: `packet.as<pm4::ReleaseMem>().address()`. The type must be the
  /// one that the id says.
  template <class Type>
  typename Type::View as() const {
    return Type::view(dwords, family);
  }
  /// What follows the fixed dwords (the values of SET_SH_REG); empty for a malformed packet.
  std::span<const uint32_t> payload() const;

 private:
  template <class Id>
  Id id(Language wanted, std::span<const PacketRow> rows) const {
    return row && language == wanted ? static_cast<Id>(row - rows.data()) : Id::Unknown;
  }
};

/// The packet at the start of `stream`, which must not be empty. `size` tells how far to advance if
/// the error leaves it known.
Packet next_packet(Language language, std::span<const uint32_t> stream, GfxFamily family);

/// Walks a stream packet by packet:
///   for (PacketCursor cursor(Language::Pm4, dwords, family); !cursor.done(); cursor.advance())
///     use(cursor.packet());
/// After a packet whose size cannot be known the walk ends, unless resync() finds the next
/// plausible one.
class PacketCursor {
 public:
  PacketCursor(Language language, std::span<const uint32_t> stream, GfxFamily family);

  bool done() const { return offset_ >= stream_.size(); }
  const Packet& packet() const { return packet_; }
  /// Of the packet, in dwords from the start of the stream.
  size_t offset() const { return offset_; }

  /// Moves behind the packet; to the end if its size is unknown or larger than the stream.
  void advance();
  /// Moves to the next dword from which several packets in a row (or the rest of the stream) decode
  /// without a problem; to the end if there is none. Returns the number of dwords skipped.
  size_t resync();

 private:
  void load();
  bool plausible(size_t offset) const;

  Language language_;
  GfxFamily family_;
  std::span<const uint32_t> stream_;
  size_t offset_ = 0;
  Packet packet_;
};

}  // namespace doppel::packets
