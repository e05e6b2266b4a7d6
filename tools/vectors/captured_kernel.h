// CapturedKernel: a kernel as a real client compiled and launched it, with its buffers before and
// after. A set is a folder with manifest.json, code objects and Zstandard-packed buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/status.h"

namespace doppel::vectors {

struct CapturedBuffer {
  uint32_t kernarg_offset = 0;  // where its address stands
  uint64_t size = 0;
  bool written = false;
  std::vector<std::byte> before;  // empty: zeros
  std::vector<std::byte> after;   // empty unless written
};

struct CapturedKernel {
  std::string name;
  std::string symbol;
  std::vector<std::byte> code_object;
  std::array<uint32_t, 3> grid{};   // workgroups
  std::array<uint32_t, 3> block{};  // work-items
  std::vector<int32_t> values;      // kernarg, behind the buffer addresses
  uint32_t kernarg_size = 0;
  uint32_t lds_bytes = 0;
  uint32_t scratch_bytes_per_lane = 0;
  uint32_t rsrc1 = 0;
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  uint32_t wave_size = 32;
  uint64_t wave_instructions = 0;  // one launch executes, as captured
  double tolerance = 0;            // relative, for outputs that are not bit-exact
  std::vector<CapturedBuffer> buffers;
};

/// The kernels of the set in `folder`, in the manifest's order, all data loaded. Malformed, naming
/// the kernel, if the manifest or a file is not as it should be.
Result<std::vector<CapturedKernel>> load_captured_kernels(const std::filesystem::path& folder);

}  // namespace doppel::vectors
