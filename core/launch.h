// LaunchDims: how large a kernel launch is. Grids are given in workgroups, as in HIP, or in
// work-items, as in HSA, where the last workgroup of an axis may be partial.
#pragma once

#include <array>
#include <cstdint>

#include "core/code_object.h"
#include "core/status.h"

namespace doppel {

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;

  constexpr Dim3() = default;
  constexpr Dim3(uint32_t x, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}  // NOLINT

  constexpr std::array<uint32_t, 3> array() const { return {x, y, z}; }
};

/// A grid counted in work-items rather than workgroups.
struct WorkItems {
  explicit constexpr WorkItems(uint32_t x, uint32_t y = 1, uint32_t z = 1) : count(x, y, z) {}
  Dim3 count;
};

struct LaunchDims {
  std::array<uint32_t, 3> work_items{};  // of the whole grid
  std::array<uint32_t, 3> workgroup{};   // work-items of a full workgroup

  /// Workgroups per axis, partial ones included.
  std::array<uint32_t, 3> workgroups() const;
  /// Work-items of the last workgroup per axis; 0 if it is full.
  std::array<uint32_t, 3> partial() const;
  /// 1, 2 or 3: the highest axis that is not 1.
  uint32_t dimensions() const;

  /// OutOfRange if the work-item count of an axis does not fit in 32 bits.
  static Result<LaunchDims> from(Dim3 workgroups, Dim3 workgroup);
  static Result<LaunchDims> from(WorkItems work_items, Dim3 workgroup);
};

/// InvalidArgument, naming the limit, if `kernel` can't be launched so on `target`. `group_bytes`
/// is the LDS of one workgroup, dynamic parts included.
Result<> check_launch(const KernelInfo& kernel, const Target& target, const LaunchDims& dims,
                      uint32_t group_bytes);

}  // namespace doppel
