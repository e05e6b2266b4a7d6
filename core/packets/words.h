// The two things that a packet's accessors can sit on: a read-only view of dwords somewhere else,
// and an array of its own that is being filled. The generated accessor classes (pm4.h, sdma.h,
// aql.h, registers.h) derive from one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/assert.h"
#include "core/packets/field.h"

namespace doppel::packets {

/// A packet somewhere in memory, read-only and not owned: must not outlive it. A field that the
/// family lacks, or that lies behind the last dword, reads as 0.
class WordsView {
 public:
  static constexpr bool kWritable = false;

  constexpr WordsView(std::span<const uint32_t> dwords, GfxFamily family)
      : dwords_(dwords), family_(family) {}

  constexpr std::span<const uint32_t> dwords() const { return dwords_; }
  constexpr GfxFamily family() const { return family_; }
  /// Dwords that follow the fixed ones; rows with a payload field replace this.
  constexpr uint32_t payload_dwords() const { return 0; }

 protected:
  template <class Type>
  constexpr FieldValue<Type> get(const FieldColumns& columns) const {
    const FieldLocation& location = columns.in(family_);
    if (!location.present() || location.end_dword() > dwords_.size()) return FieldValue<Type>{};
    return static_cast<FieldValue<Type>>(location.extract(dwords_.data()));
  }

 private:
  std::span<const uint32_t> dwords_;
  GfxFamily family_;
};

/// A packet under construction: kCapacity fixed dwords, and a payload that is not owned and must
/// stay alive until the packet is appended. Setting a value that does not fit its field is a bug of
/// the caller; so is setting a field that the family lacks to anything but 0.
template <size_t kCapacity>
class WordsArray {
 public:
  static constexpr bool kWritable = true;

  constexpr explicit WordsArray(GfxFamily family, size_t size = kCapacity)
      : family_(family), size_(size) {
    DOPPEL_ASSERT(size <= kCapacity, "the packet is longer than its row allows");
  }

  /// The fixed dwords, without the payload.
  constexpr std::span<const uint32_t> dwords() const { return {dwords_.data(), size_}; }
  constexpr std::span<const uint32_t> payload() const { return payload_; }
  constexpr GfxFamily family() const { return family_; }
  constexpr uint32_t payload_dwords() const { return 0; }

 protected:
  template <class Type>
  constexpr FieldValue<Type> get(const FieldColumns& columns) const {
    const FieldLocation& location = columns.in(family_);
    if (!location.present() || location.end_dword() > size_) return FieldValue<Type>{};
    return static_cast<FieldValue<Type>>(location.extract(dwords_.data()));
  }

  template <class Type>
  constexpr void set(const FieldColumns& columns, FieldValue<Type> value, const char* name) {
    const FieldLocation& location = columns.in(family_);
    const auto bits = static_cast<uint64_t>(value);
    if (!location.present() || location.end_dword() > size_) {
      DOPPEL_ASSERT(bits == 0, name);
      return;
    }
    DOPPEL_ASSERT(((bits << location.shift) & ~location.mask) == 0 &&
                      (bits << location.shift) >> location.shift == bits,
                  name);
    location.deposit(dwords_.data(), bits);
  }

  constexpr void attach(std::span<const uint32_t> payload) { payload_ = payload; }
  constexpr uint32_t& dword(size_t index) { return dwords_[index]; }

 private:
  std::array<uint32_t, kCapacity> dwords_{};
  std::span<const uint32_t> payload_;
  GfxFamily family_;
  size_t size_;
};

}  // namespace doppel::packets

/// Expands one FIELD row to its location (`name_field`), its getter and its fluent setter.
#define DOPPEL_FIELD_ACCESSORS(name, Type, ...)                                                \
  static constexpr ::doppel::packets::FieldColumns name##_field =                              \
      ::doppel::packets::field_columns(__VA_ARGS__);                                           \
  constexpr ::doppel::packets::FieldValue<Type> name() const {                                 \
    return this->template get<Type>(name##_field);                                             \
  }                                                                                            \
  constexpr auto& name(::doppel::packets::FieldValue<Type> value) requires(Words::kWritable) { \
    this->template set<Type>(name##_field, value, #name);                                      \
    return *this;                                                                              \
  }
