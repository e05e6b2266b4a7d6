// Target: which GPU generation code, packets and registers are meant for. One row per gfx name;
// everything that differs between generations is a column here or in a table keyed by GfxFamily,
// never a comparison of names elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"

namespace doppel {

/// Generations that share packet formats and instruction encodings.
enum class GfxFamily : uint8_t { Gfx9_4, Gfx10_3, Gfx11, Gfx11_5, Gfx12 };

std::string_view to_string(GfxFamily family);

/// One GPU target. Instances are static table rows: compare by pointer or by name.
struct Target {
  std::string_view name;        // "gfx1100"
  uint32_t gfx_target_version;  // sysfs and KFD spelling: 110000 = major*10000 + minor*100 + step
  uint32_t elf_mach;            // EF_AMDGPU_MACH_* of the ELF header's e_flags (LLVM AMDGPU ABI)
  GfxFamily family;
  uint8_t wave_sizes;           // bit 5: wave32, bit 6: wave64
  uint8_t vgpr_granule_wave32;  // granularity of RSRC1.VGPRS in wave32 / wave64 registers
  uint8_t vgpr_granule_wave64;
  uint16_t addressable_vgprs;   // per wave
  uint32_t lds_bytes;           // a workgroup may use
  uint32_t max_workgroup_size;  // work-items
  bool architected_flat_scratch;
  bool packed_workitem_ids;  // x, y, z packed into v0 (10 bits each)
};

/// All known targets, ordered by name.
std::span<const Target> all_targets();

/// The row named "gfx1100", or NotFound naming the targets that exist.
Result<const Target*> find_target(std::string_view name);

/// The row for a KFD gfx_target_version (110000), or nullptr.
const Target* find_target_by_version(uint32_t gfx_target_version);

/// The row whose EF_AMDGPU_MACH value is `mach` (low 8 bits of e_flags), or nullptr.
const Target* find_target_by_elf_mach(uint32_t mach);

}  // namespace doppel
