#include "core/launch.h"

#include <limits>

#include <fmt/format.h>

#include "core/errors.h"

namespace doppel {
namespace {

std::string text(const std::array<uint32_t, 3>& dims) {
  return fmt::format("{}x{}x{}", dims[0], dims[1], dims[2]);
}

}  // namespace

std::array<uint32_t, 3> LaunchDims::workgroups() const {
  std::array<uint32_t, 3> counts{};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (workgroup[axis] == 0) continue;
    counts[axis] = work_items[axis] / workgroup[axis] + (work_items[axis] % workgroup[axis] != 0);
  }
  return counts;
}

std::array<uint32_t, 3> LaunchDims::partial() const {
  std::array<uint32_t, 3> rest{};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (workgroup[axis] != 0) rest[axis] = work_items[axis] % workgroup[axis];
  }
  return rest;
}

uint32_t LaunchDims::dimensions() const {
  if (work_items[2] > 1 || workgroup[2] > 1) return 3;
  return work_items[1] > 1 || workgroup[1] > 1 ? 2 : 1;
}

Result<LaunchDims> LaunchDims::from(Dim3 workgroups, Dim3 workgroup) {
  LaunchDims dims;
  dims.workgroup = workgroup.array();
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t items = uint64_t{workgroups.array()[axis]} * dims.workgroup[axis];
    if (items > std::numeric_limits<uint32_t>::max()) {
      return error(StatusCode::OutOfRange,
                   fmt::format("The grid ({} workgroups of {}) has more than 2^32 - 1 work-items "
                               "on an axis.",
                               text(workgroups.array()), text(dims.workgroup)));
    }
    dims.work_items[axis] = static_cast<uint32_t>(items);
  }
  return dims;
}

Result<LaunchDims> LaunchDims::from(WorkItems work_items, Dim3 workgroup) {
  return LaunchDims{work_items.count.array(), workgroup.array()};
}

Result<> check_launch(const KernelInfo& kernel, const Target& target, const LaunchDims& dims,
                      uint32_t group_bytes) {
  uint64_t workgroup_size = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (dims.workgroup[axis] == 0 || dims.work_items[axis] == 0) {
      return invalid(
          fmt::format("The launch of {} has an empty axis (grid of {} work-items, "
                      "workgroup of {}).",
                      kernel.name, text(dims.work_items), text(dims.workgroup)));
    }
    if (dims.workgroup[axis] > target.max_workgroup_size) {
      return invalid(fmt::format("The workgroup ({}) of {} exceeds {} work-items on an axis.",
                                 text(dims.workgroup), kernel.name, target.max_workgroup_size));
    }
    workgroup_size *= dims.workgroup[axis];
  }
  if (workgroup_size > target.max_workgroup_size) {
    return invalid(fmt::format("The workgroup ({}, {} work-items) of {} exceeds {}'s limit of {}.",
                               text(dims.workgroup), workgroup_size, kernel.name, target.name,
                               target.max_workgroup_size));
  }
  if (workgroup_size > kernel.max_workgroup_size) {
    return invalid(
        fmt::format("The workgroup ({}, {} work-items) exceeds the {} that {} was "
                    "compiled for.",
                    text(dims.workgroup), workgroup_size, kernel.max_workgroup_size, kernel.name));
  }
  if (kernel.required_workgroup_size && *kernel.required_workgroup_size != dims.workgroup) {
    return invalid(fmt::format("The workgroup ({}) is not the one that {} requires ({}).",
                               text(dims.workgroup), kernel.name,
                               text(*kernel.required_workgroup_size)));
  }
  if (group_bytes > target.lds_bytes) {
    return invalid(
        fmt::format("The launch of {} takes {} bytes of LDS ({} of them static); {} "
                    "has {}.",
                    kernel.name, group_bytes, kernel.group_bytes, target.name, target.lds_bytes));
  }
  return {};
}

}  // namespace doppel
