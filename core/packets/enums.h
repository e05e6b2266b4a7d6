// Expands the enumerations of the tables: `enum class Name` with the vendor's spelling, and
// enum_values(Name), which lists them for the dumper and the validator.
#pragma once

#include <cstdint>
#include <span>

#include "core/packets/field.h"

// clang-format off
#define DOPPEL_ENUM_BEGIN(Name) enum class Name : uint32_t {
#define DOPPEL_ENUM_VALUE(name, number) name = number,
#define DOPPEL_ENUM_END(Name) };

#define DOPPEL_ENUM_TABLE_BEGIN(Name) \
  inline constexpr ::doppel::packets::EnumValue k##Name##Values[] = {
#define DOPPEL_ENUM_TABLE_VALUE(name, number) {#name, number},
#define DOPPEL_ENUM_TABLE_END(Name)                                          \
  };                                                                         \
  constexpr std::span<const ::doppel::packets::EnumValue> enum_values(Name) { \
    return k##Name##Values;                                                  \
  }

namespace doppel::packets {

#define ENUM DOPPEL_ENUM_BEGIN
#define VALUE DOPPEL_ENUM_VALUE
#define END_ENUM DOPPEL_ENUM_END
#include "core/packets/atomic_ops.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM

#define ENUM DOPPEL_ENUM_TABLE_BEGIN
#define VALUE DOPPEL_ENUM_TABLE_VALUE
#define END_ENUM DOPPEL_ENUM_TABLE_END
#include "core/packets/atomic_ops.inc"
#undef ENUM
#undef VALUE
#undef END_ENUM

}  // namespace doppel::packets
