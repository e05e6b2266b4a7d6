// The fields of COMPUTE_PGM_RSRC1 and RSRC2 that a dispatch needs, and the aperture bases that the
// driver programs. Sources: LLVM "User Guide for AMDGPU Backend" (compute_pgm_rsrc1/2), the
// kernel's kfd_flat_memory.c (apertures).
#pragma once

#include <cstdint>

#include "core/target.h"

namespace doppel::emu {

inline constexpr uint64_t kSharedAperture = 0x1'0000'0000'0000;
inline constexpr uint64_t kPrivateAperture = 0x2'0000'0000'0000;

class Rsrc1 {
 public:
  explicit constexpr Rsrc1(uint32_t bits) : bits_(bits) {}
  /// VGPRs a lane is allocated.
  constexpr uint32_t vgprs(const Target& target, bool wave64) const {
    const uint32_t granule = wave64 ? target.vgpr_granule_wave64 : target.vgpr_granule_wave32;
    const uint32_t count = ((bits_ & 0x3f) + 1) * granule;
    return count < target.addressable_vgprs ? count : target.addressable_vgprs;
  }
  /// The MODE register's initial value.
  constexpr uint32_t mode() const {
    const uint32_t float_mode = bits_ >> 12 & 0xff;
    const uint32_t dx10_clamp = bits_ >> 21 & 1, ieee = bits_ >> 23 & 1, overflow = bits_ >> 26 & 1;
    return float_mode | dx10_clamp << 8 | ieee << 9 | overflow << 23;
  }

 private:
  uint32_t bits_;
};

class Rsrc2 {
 public:
  explicit constexpr Rsrc2(uint32_t bits) : bits_(bits) {}
  constexpr bool scratch() const { return (bits_ & 1) != 0; }
  constexpr uint32_t user_sgprs() const { return bits_ >> 1 & 0x1f; }
  constexpr bool workgroup_id(uint32_t axis) const { return (bits_ >> (7 + axis) & 1) != 0; }
  constexpr bool workgroup_info() const { return (bits_ >> 10 & 1) != 0; }
  /// 0: x, 1: x and y, 2: x, y and z.
  constexpr uint32_t work_item_id_components() const { return bits_ >> 11 & 3; }

 private:
  uint32_t bits_;
};

}  // namespace doppel::emu
