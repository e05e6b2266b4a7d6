#include "core/target.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace doppel {
namespace {

constexpr uint8_t kWave32And64 = 0x60;
constexpr uint8_t kWave64 = 0x40;

// EF_AMDGPU_MACH and granules: LLVM "User Guide for AMDGPU Backend", tables "AMDGPU ELF Header
// e_flags" and "compute_pgm_rsrc1". gfx1100, 1101 and 1151 have the larger register file (1536
// VGPRs a SIMD), which changes occupancy, not the encoding granule.
constexpr std::array kTargets = {
    Target{"gfx1030", 100300, 0x36, GfxFamily::Gfx10_3, kWave32And64, 8, 4, 256, 65536, 1024, false,
           false},
    Target{"gfx1031", 100301, 0x37, GfxFamily::Gfx10_3, kWave32And64, 8, 4, 256, 65536, 1024, false,
           false},
    Target{"gfx1032", 100302, 0x38, GfxFamily::Gfx10_3, kWave32And64, 8, 4, 256, 65536, 1024, false,
           false},
    Target{"gfx1033", 100303, 0x39, GfxFamily::Gfx10_3, kWave32And64, 8, 4, 256, 65536, 1024, false,
           false},
    Target{"gfx1034", 100304, 0x3e, GfxFamily::Gfx10_3, kWave32And64, 8, 4, 256, 65536, 1024, false,
           false},
    Target{"gfx1035", 100305, 0x3d, GfxFamily::Gfx10_3, kWave32And64, 8, 4, 256, 65536, 1024, false,
           false},
    Target{"gfx1036", 100306, 0x45, GfxFamily::Gfx10_3, kWave32And64, 8, 4, 256, 65536, 1024, false,
           false},
    Target{"gfx1100", 110000, 0x41, GfxFamily::Gfx11, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx1101", 110001, 0x46, GfxFamily::Gfx11, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx1102", 110002, 0x47, GfxFamily::Gfx11, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx1103", 110003, 0x44, GfxFamily::Gfx11, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx1150", 110500, 0x43, GfxFamily::Gfx11_5, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx1151", 110501, 0x4a, GfxFamily::Gfx11_5, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx1200", 120000, 0x48, GfxFamily::Gfx12, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx1201", 120001, 0x4e, GfxFamily::Gfx12, kWave32And64, 8, 4, 256, 65536, 1024, true,
           true},
    Target{"gfx906", 90006, 0x2f, GfxFamily::Gfx9_4, kWave64, 4, 4, 256, 65536, 1024, false, false},
    Target{"gfx90a", 90010, 0x3f, GfxFamily::Gfx9_4, kWave64, 8, 8, 512, 65536, 1024, false, true},
    Target{"gfx942", 90402, 0x4c, GfxFamily::Gfx9_4, kWave64, 8, 8, 512, 65536, 1024, true, true},
};

template <class Key>
const Target* find_row(Key Target::*column, Key key) {
  auto row = std::ranges::find(kTargets, key, column);
  return row == kTargets.end() ? nullptr : &*row;
}

}  // namespace

std::string_view to_string(GfxFamily family) {
  switch (family) {
    case GfxFamily::Gfx9_4:
      return "gfx9.4";
    case GfxFamily::Gfx10_3:
      return "gfx10.3";
    case GfxFamily::Gfx11:
      return "gfx11";
    case GfxFamily::Gfx11_5:
      return "gfx11.5";
    case GfxFamily::Gfx12:
      return "gfx12";
  }
  return "?";
}

std::span<const Target> all_targets() {
  return kTargets;
}

Result<const Target*> find_target(std::string_view name) {
  if (const Target* row = find_row(&Target::name, name)) return row;
  std::vector<std::string_view> names;
  for (const Target& target : kTargets) names.push_back(target.name);
  return error(StatusCode::NotFound, fmt::format("The GPU target is unknown ({}); known are {}.",
                                                 name, fmt::join(names, ", ")));
}

const Target* find_target_by_version(uint32_t version) {
  return find_row(&Target::gfx_target_version, version);
}

const Target* find_target_by_elf_mach(uint32_t mach) {
  return find_row(&Target::elf_mach, mach & 0xff);
}

}  // namespace doppel
