// Dispatch: everything the hardware knows when it launches a grid: the COMPUTE_* registers as a PM4
// stream set them, or as the CP derives them from an AQL packet and its kernel descriptor.
#pragma once

#include <array>
#include <cstdint>

#include "core/target.h"

namespace doppel::emu {

class AccessLog;
class GpuVm;
class WaveProbe;

struct Dispatch {
  const Target* target = nullptr;
  const GpuVm* vm = nullptr;
  AccessLog* log = nullptr;    // where waves record what they access; nullptr: nowhere
  WaveProbe* probe = nullptr;  // sees every instruction; nullptr: nobody

  uint64_t program = 0;  // address of the first instruction (PGM << 8)
  uint32_t rsrc1 = 0;    // COMPUTE_PGM_RSRC1..3
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  bool wave32 = true;  // DISPATCH_INITIATOR.CS_W32_EN

  std::array<uint32_t, 3> grid{};            // workgroups, partial ones included
  std::array<uint32_t, 3> start{};           // first workgroup id (START_X..Z)
  std::array<uint32_t, 3> workgroup{};       // work-items of a full workgroup
  std::array<uint32_t, 3> last_workgroup{};  // work-items of the last one per axis; 0 = full

  std::array<uint32_t, 16> user_data{};  // initial user SGPRs (USER_DATA_0..15)

  uint32_t lds_bytes = 0;               // per workgroup, from RSRC2.LDS_SIZE
  uint64_t scratch_base = 0;            // DISPATCH_SCRATCH_BASE << 8; 0 = none
  uint32_t scratch_bytes_per_wave = 0;  // TMPRING_SIZE.WAVESIZE in bytes
  uint32_t scratch_waves = 0;           // TMPRING_SIZE.WAVES: slots in the ring
};

}  // namespace doppel::emu
