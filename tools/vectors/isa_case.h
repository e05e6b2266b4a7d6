// IsaCase: one instruction sequence, run by one wave, with the registers it must leave behind.
// A set is a file of "IVEC" records: a header of 25 dwords (little endian), then name, code,
// expected output, mask and input, each padded to 4 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace doppel::vectors {

enum class IsaCaseArch : uint32_t { Rdna3 = 3, Rdna4 = 4, Cdna = 9 };

/// What the case's output buffer holds.
enum class OutputLayout : uint32_t {
  State16 = 0,  // v0..v15 (one dword a lane each), then s0..s15, vcc_lo, scc, exec_lo
  Lanes1 = 1,   // one dword a lane
};

/// How an approximate case's dwords are compared.
enum class FloatType : uint32_t { None = 0, F32 = 1, F16x2 = 2, F64 = 3, Bf16x2 = 4 };

enum class MaskByte : uint8_t { Ignore = 0, Stable = 1, Asserted = 2 };

struct IsaCase {
  static constexpr uint32_t kApproximate = 1;  // bits of flags
  static constexpr uint32_t kSecondAgrees = 4;
  static constexpr uint32_t kSecondDiffers = 8;

  uint32_t id = 0;
  IsaCaseArch arch = IsaCaseArch::Rdna3;
  uint32_t flags = 0;
  std::array<uint32_t, 3> block{};  // work-items
  std::array<uint32_t, 3> grid{};   // workgroups
  uint32_t rsrc1 = 0;
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  uint32_t scratch_bytes_per_lane = 0;
  uint32_t lds_bytes = 0;
  uint32_t body_offset = 0;  // bytes into the code: the instructions under test
  uint32_t body_size = 0;
  OutputLayout layout = OutputLayout::State16;
  uint32_t wave_size = 32;
  FloatType float_type = FloatType::None;
  uint32_t ulp = 0;  // tolerance of an approximate case

  std::string name{};
  std::vector<std::byte> code{};
  std::vector<std::byte> expected{};
  std::vector<std::byte> mask{};  // a MaskByte for each byte of expected
  std::vector<std::byte> input{};

  bool approximate() const { return (flags & kApproximate) != 0; }
  std::span<const std::byte> body() const {
    return std::span(code).subspan(body_offset, body_size);
  }
  /// True if real hardware produced any of the expected bytes.
  bool hardware_checked() const;
  /// Where byte `offset` of the output came from: "v3 lane 7", "s2", "scc", "out[5]".
  std::string output_name(uint32_t offset) const;
};

/// The records of a set. Malformed, naming the record, if one is cut, inconsistent or unknown.
Result<std::vector<IsaCase>> parse_isa_cases(std::span<const std::byte> set);

}  // namespace doppel::vectors
