// CommandStream: the dwords of one or more commands, packet by packet, and Patch<T>, a typed handle
// to one field in it. A patched stream equals the one that encoding the new value afresh would
// give.
//
// A stream owns its dwords and grows, up to the capacity it was made with; a packet that does not
// fit is dropped whole and leaves an error that ok() and check() show. Not thread-safe. Nothing
// allocates once a cleared stream has been as long before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/assert.h"
#include "core/packets/field.h"
#include "core/packets/row.h"
#include "core/status.h"

namespace doppel {

/// One field of one packet of a stream, or of a copy of its dwords elsewhere (an indirect buffer).
/// A default-constructed Patch is empty: the command has no such field, and setting it is a bug.
template <class T>
class Patch {
 public:
  constexpr Patch() = default;
  constexpr Patch(uint32_t packet_dword, const packets::FieldLocation& location)
      : packet_dword_(packet_dword), location_(location) {}

  explicit constexpr operator bool() const { return location_.present(); }
  /// First dword that the field touches, from the start of the stream.
  constexpr uint32_t dword() const { return packet_dword_ + location_.dword; }
  constexpr uint32_t dwords() const { return location_.pair ? 2 : 1; }
  /// Whether the field can hold the value.
  constexpr bool fits(T value) const {
    const auto bits = static_cast<uint64_t>(value);
    return location_.pair ? (bits & ~location_.mask) == 0 : bits <= location_.max();
  }

  /// Writes the field in `dwords`, the stream's dwords from its first. The value must fit.
  constexpr void set(std::span<uint32_t> dwords, T value) const {
    DOPPEL_ASSERT(*this && dword() + this->dwords() <= dwords.size(),
                  "the patch is not of these dwords");
    DOPPEL_ASSERT(fits(value), "the patched value does not fit its field");
    location_.deposit(dwords.data() + packet_dword_, static_cast<uint64_t>(value));
  }
  constexpr T get(std::span<const uint32_t> dwords) const {
    DOPPEL_ASSERT(*this && dword() + this->dwords() <= dwords.size(),
                  "the patch is not of these dwords");
    return static_cast<T>(location_.extract(dwords.data() + packet_dword_));
  }

  /// The same field of a packet `dwords` further on.
  constexpr Patch moved(uint32_t dwords) const {
    Patch patch = *this;
    patch.packet_dword_ += dwords;
    return patch;
  }

 private:
  uint32_t packet_dword_ = 0;
  packets::FieldLocation location_;
};

class CommandStream {
 public:
  static constexpr size_t kUnlimited = ~size_t{0};

  CommandStream(packets::Language language, GfxFamily family, size_t capacity = kUnlimited)
      : language_(language), family_(family), capacity_(capacity) {}

  packets::Language language() const { return language_; }
  GfxFamily family() const { return family_; }
  std::span<const uint32_t> dwords() const { return dwords_; }
  /// For Patch::set.
  std::span<uint32_t> dwords() { return dwords_; }
  size_t size() const { return dwords_.size(); }
  bool empty() const { return dwords_.empty(); }
  size_t capacity() const { return capacity_; }

  /// The first dword of each packet: rings that must not split one need to know.
  std::span<const uint32_t> packet_starts() const { return packet_starts_; }
  std::span<const packets::AddressMark> address_marks() const { return address_marks_; }

  /// Appends a builder's dwords and payload; returns the packet's first dword.
  template <class Packet>
  uint32_t append(const Packet& packet) {
    return append_packet(packet.dwords(), packet.payload());
  }

  /// Appends all of another stream of the same language and family.
  void append_stream(const CommandStream& other);

  /// The patch of a field of a packet that append() returned the place of; empty if the family has
  /// no such field or the packet was dropped.
  template <class T>
  Patch<T> patch(uint32_t packet, const packets::FieldColumns& field) const {
    const packets::FieldLocation& location = field.in(family_);
    if (!location.present() || packet + location.end_dword() > dwords_.size()) return {};
    return Patch<T>(packet, location);
  }
  /// The patch of a whole payload dword (T of 4 bytes) or pair (8 bytes), counted from the packet.
  template <class T>
  Patch<T> patch_dword(uint32_t packet, uint32_t dword) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    const bool pair = sizeof(T) == 8;
    if (packet + dword + (pair ? 2 : 1) > dwords_.size()) return {};
    return Patch<T>(packet, {.mask = pair ? ~uint64_t{0} : 0xffffffff,
                             .dword = static_cast<uint8_t>(dword),
                             .shift = 0,
                             .pair = pair});
  }

  /// Says that the dword of a packet and the one behind it hold an address shifted right.
  void mark_address(uint32_t packet, uint32_t dword, uint8_t shift = 0);

  /// Records why encoding cannot go on; the first reason stays. Commands call it instead of
  /// returning a Result, so that chains of them read well.
  void fail(Status status);
  bool ok() const { return !error_; }
  /// The first error since the stream was made or cleared.
  Result<> check() const;

  /// Back to an empty, healthy stream.
  void clear();

 private:
  uint32_t append_packet(std::span<const uint32_t> fixed, std::span<const uint32_t> payload);

  packets::Language language_;
  GfxFamily family_;
  size_t capacity_;
  std::vector<uint32_t> dwords_;
  std::vector<uint32_t> packet_starts_;
  std::vector<packets::AddressMark> address_marks_;
  std::optional<Status> error_;
};

}  // namespace doppel
