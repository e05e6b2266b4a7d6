// DeviceProfile: everything that tells one emulated GPU model from another. Topology files, DRM
// answers, ioctl limits and the emulator's configuration are all derived from it, so that they
// cannot contradict each other. Value types; immutable once a VirtualKernel has them.
//
// MachineProfile: the machine around the GPUs, usually parsed from a specification such as
// "mock:gfx1100,cu=4,vram=1GiB,count=2,seed=7".
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/queue_buffers.h"
#include "core/status.h"
#include "core/target.h"
#include "emulator/dispatch/dispatcher.h"

namespace doppel {
struct ScheduleRecord;
}
namespace doppel::emu {
class Schedule;
}

namespace doppel::mock {

inline constexpr uint32_t kMaxGpus = 8;
inline constexpr uint16_t kAmdVendorId = 0x1002;

/// Version of a hardware block, as IP discovery spells it.
struct IpVersion {
  uint8_t major = 0;
  uint8_t minor = 0;
  uint8_t revision = 0;
};

/// Sizes in KiB; 0 where the level does not exist.
struct CacheSizes {
  uint32_t vector_l1 = 0;        // per CU
  uint32_t scalar_l1 = 0;        // shared by `cus_per_scalar_cache` CUs
  uint32_t instruction = 0;      // likewise
  uint32_t shader_array_l1 = 0;  // GL1, per shader array
  uint32_t l2 = 0;
  uint32_t infinity = 0;  // MALL
  uint32_t cus_per_scalar_cache = 2;
  uint32_t line_bytes = 128;
};

struct DeviceProfile {
  const Target* target = nullptr;
  std::string_view node_name{};       // topology "name": the driver's name of the ASIC
  std::string_view marketing_name{};  // what libdrm's amdgpu.ids says of (device, revision)
  uint16_t device_id = 0;             // PCI
  uint8_t pci_revision = 0;
  uint8_t external_revision = 0;
  uint32_t drm_family = 0;  // AMDGPU_FAMILY_*
  bool apu = false;
  bool large_bar = true;  // all VRAM is visible to the host

  uint32_t compute_units = 0;
  uint32_t shader_engines = 1;
  uint32_t arrays_per_engine = 1;
  uint32_t simd_per_cu = 2;
  uint32_t max_waves_per_simd = 16;
  uint32_t max_slots_scratch_cu = 32;
  uint32_t wave_front_size = 32;
  uint32_t max_engine_clock_mhz = 0;
  uint32_t max_memory_clock_mhz = 0;

  uint64_t vram_bytes = 0;
  uint32_t vram_bus_bits = 0;
  uint32_t vram_type = 0;  // AMDGPU_VRAM_TYPE_*
  CacheSizes cache{};

  uint32_t sdma_engines = 2;
  uint32_t sdma_xgmi_engines = 0;
  uint32_t sdma_queues_per_engine = 6;
  uint32_t cp_queues = 8;
  uint32_t num_gws = 64;
  uint32_t watch_points = 4;
  uint32_t gb_addr_config = 0;  // register GB_ADDR_CONFIG
  uint32_t mec_firmware = 0;
  uint32_t sdma_firmware = 0;

  IpVersion gc{};
  IpVersion sdma{};
  IpVersion nbif{};

  uint32_t simd_count() const { return compute_units * simd_per_cu; }
  uint32_t array_count() const { return shader_engines * arrays_per_engine; }
  uint32_t cu_per_array() const { return (compute_units + array_count() - 1) / array_count(); }
  /// What the host reaches through the PCI BAR.
  uint64_t visible_vram_bytes() const {
    return large_bar ? vram_bytes : std::min(vram_bytes, uint64_t{256} << 20);
  }
  /// GPUs whose queues the MES schedules: the write pointer must be a mapped page of its own.
  bool has_mes() const;
  kfd::QueueBufferSizes queue_buffers() const;
};

class FaultPlan;
struct Persona;

struct MachineProfile {
  std::vector<DeviceProfile> gpus;
  /// What a recorded machine says, verbatim; nullptr: all answers are derived from `gpus`.
  std::shared_ptr<const Persona> persona = {};
  uint64_t seed = 1;
  /// Instead of random orders, the first of these that is set:
  emu::Schedule* schedule = nullptr;                             // outlives the machine
  std::shared_ptr<const ScheduleRecord> recorded_schedule = {};  //
  uint32_t pct_depth = 0;                                        // emulator/pct_schedule.h; 0: not
  uint64_t host_memory_bytes = uint64_t{64} << 30;
  uint32_t host_cores = 16;
  uint32_t workers = 1;                                          // host threads that run workgroups
  uint64_t instruction_budget = emu::kDefaultInstructionBudget;  // wave-instructions per dispatch
  isa::Coverage* coverage = nullptr;  // counts what kernels execute; outlives the machine
  uint32_t kfd_minor_version = 14;
  std::shared_ptr<const FaultPlan> faults = {};  // what goes wrong; nullptr: nothing
};

/// Names of the models that exist, in order: "gfx1030", "gfx1100", ...
std::vector<std::string_view> device_profile_names();

/// The profile of a model. NotFound naming the models that exist.
Result<DeviceProfile> find_device_profile(std::string_view name);

/// Parses "[mock:]MODEL[,key=value]...", or "[mock:]profile=FILE[,key=value]..." for a recorded
/// machine (persona.h), whose keys are seed, pct, schedule, workers and instructions. Keys: cu,
/// vram (with KiB/MiB/GiB), count (1..8), seed, pct, schedule (of the block order: a depth, a
/// file), sdma (engines), workers, instructions (that a dispatch may execute), bar (large|small),
/// memory (of the host), kfd (ABI version, 1.14). InvalidArgument names the part that is wrong.
Result<MachineProfile> parse_machine(std::string_view specification);

}  // namespace doppel::mock
