// Arithmetic of alignments.
#pragma once

#include <concepts>
#include <type_traits>

namespace doppel {

/// The least multiple of `alignment` that is not below `value`.
template <std::unsigned_integral T>
constexpr T align_up(T value, std::type_identity_t<T> alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace doppel
