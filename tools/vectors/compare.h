// Comparison of what a case produced with what it should have: bit for bit, or within units in the
// last place (ulp) where the case says that the operation is approximate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tools/vectors/isa_case.h"

namespace doppel::vectors {

struct Mismatch {
  uint32_t offset = 0;  // byte of the output, at the start of a dword
  std::string where;    // "v3 lane 7"
  uint32_t expected = 0;
  uint32_t got = 0;
  bool hardware_checked = false;
  uint32_t others = 0;  // further dwords that differ
};

/// The distance of two values in units in the last place, +0 and -0 being equal; two NaNs are at
/// distance 0 and a NaN is far from everything else.
uint64_t ulp_distance(FloatType type, uint64_t a, uint64_t b);

/// The first dword that differs where the mask asks for a comparison, or nothing.
std::optional<Mismatch> compare_output(const IsaCase& expected, std::span<const std::byte> got);

}  // namespace doppel::vectors
