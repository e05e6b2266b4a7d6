// VirtualKfd: version, clocks, apertures, address spaces, modes, and what is refused.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "backends/mock/raw_system.h"
#include "backends/mock/user_memory.h"
#include "backends/mock/virtual_kfd.h"

namespace doppel::mock {
namespace {

// Linux kfd_flat_memory.c, from GFX9 on.
constexpr uint64_t kLdsBase = uint64_t{1} << 48;
constexpr uint64_t kScratchBase = uint64_t{2} << 48;
constexpr uint64_t kApertureBytes = uint64_t{4} << 30;
constexpr uint64_t kGpuVmBase = 0x4000;
constexpr uint64_t kGpuVmLimit = (uint64_t{1} << 47) - 1;

constexpr uint32_t kTileModes = 32;  // gfx_v*_0: size of tile_mode_array, macrotile_mode_array
constexpr uint32_t kMacroTileModes = 16;

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

}  // namespace

int VirtualKfd::get_version(kfd_ioctl_get_version_args& args) {
  args.major_version = version_.major;
  args.minor_version = version_.minor;
  return 0;
}

int VirtualKfd::get_clock_counters(kfd_ioctl_get_clock_counters_args& args) {
  const uint64_t now = progress_.now_ns();
  args.gpu_clock_counter = process_.find_device(args.gpu_id) == nullptr ? 0 : gpu_ticks(now);
  args.cpu_clock_counter = now;
  args.system_clock_counter = now;
  args.system_clock_freq = kNanosecondsPerSecond;
  return 0;
}

void VirtualKfd::fill_aperture(kfd_process_device_apertures& aperture,
                               const ProcessDevice& device) const {
  aperture = {};
  aperture.lds_base = kLdsBase;
  aperture.lds_limit = kLdsBase + kApertureBytes - 1;
  aperture.scratch_base = kScratchBase;
  aperture.scratch_limit = kScratchBase + kApertureBytes - 1;
  aperture.gpuvm_base = kGpuVmBase;
  aperture.gpuvm_limit = kGpuVmLimit;
  aperture.gpu_id = device.gpu->gpu_id();
}

int VirtualKfd::get_process_apertures(kfd_ioctl_get_process_apertures_args& args) {
  args.num_of_nodes =
      static_cast<uint32_t>(std::min<size_t>(process_.devices.size(), NUM_OF_SUPPORTED_GPUS));
  for (uint32_t i = 0; i < args.num_of_nodes; ++i)
    fill_aperture(args.process_apertures[i], process_.devices[i]);
  return 0;
}

int VirtualKfd::get_process_apertures_new(kfd_ioctl_get_process_apertures_new_args& args) {
  const auto nodes = static_cast<uint32_t>(process_.devices.size());
  if (args.num_of_nodes == 0) {
    args.num_of_nodes = nodes;
    return 0;
  }
  args.num_of_nodes = std::min(args.num_of_nodes, nodes);
  std::vector<kfd_process_device_apertures> apertures(args.num_of_nodes);
  for (uint32_t i = 0; i < args.num_of_nodes; ++i) fill_aperture(apertures[i], process_.devices[i]);
  return copy_to_user(args.kfd_process_device_apertures_ptr, apertures.data(),
                      apertures.size() * sizeof apertures[0])
             ? 0
             : -EFAULT;
}

int VirtualKfd::acquire_vm(kfd_ioctl_acquire_vm_args& args) {
  std::shared_ptr<DrmFile> file = render_nodes_.find(static_cast<int>(args.drm_fd));
  if (file == nullptr) return -EINVAL;
  ProcessDevice* device = process_.find_device(args.gpu_id);
  if (device == nullptr) return -EINVAL;
  if (device->drm != nullptr) return device->drm == file ? 0 : -EBUSY;
  if (&file->gpu() != device->gpu || file->is_compute_vm()) return -EINVAL;
  file->make_compute_vm();
  device->drm = std::move(file);
  return 0;
}

int VirtualKfd::set_memory_policy(kfd_ioctl_set_memory_policy_args& args) {
  for (uint32_t policy : {args.default_policy, args.alternate_policy}) {
    if (policy != KFD_IOC_CACHE_POLICY_COHERENT && policy != KFD_IOC_CACHE_POLICY_NONCOHERENT)
      return -EINVAL;
  }
  int failure = 0;
  bound_device(args.gpu_id, -ESRCH, failure);
  return failure;
}

int VirtualKfd::set_scratch_backing_va(kfd_ioctl_set_scratch_backing_va_args& args) {
  int failure = 0;
  ProcessDevice* device = bound_device(args.gpu_id, -ENODEV, failure);
  if (device != nullptr) device->scratch_backing = args.va_addr;
  return failure;
}

int VirtualKfd::set_trap_handler(kfd_ioctl_set_trap_handler_args& args) {
  int failure = 0;
  ProcessDevice* device = bound_device(args.gpu_id, -ESRCH, failure);
  if (device == nullptr) return failure;
  device->trap_handler = args.tba_addr;
  device->trap_memory = args.tma_addr;
  return 0;
}

int VirtualKfd::get_tile_config(kfd_ioctl_get_tile_config_args& args) {
  ProcessDevice* device = process_.find_device(args.gpu_id);
  if (device == nullptr) return -EINVAL;
  // From GFX9 on the tables exist but hold nothing; swizzle modes took their place.
  const std::vector<uint32_t> modes(kTileModes);
  args.gb_addr_config = device->gpu->profile().gb_addr_config;
  args.num_banks = 0;
  args.num_ranks = 0;
  args.num_tile_configs = std::min(args.num_tile_configs, kTileModes);
  if (!copy_to_user(args.tile_config_ptr, modes.data(), args.num_tile_configs * 4)) {
    args.num_tile_configs = 0;
    return -EFAULT;
  }
  args.num_macro_tile_configs = std::min(args.num_macro_tile_configs, kMacroTileModes);
  if (!copy_to_user(args.macro_tile_config_ptr, modes.data(), args.num_macro_tile_configs * 4)) {
    args.num_macro_tile_configs = 0;
    return -EFAULT;
  }
  return 0;
}

int VirtualKfd::set_xnack_mode(kfd_ioctl_set_xnack_mode_args& args) {
  if (args.xnack_enabled < 0) {
    args.xnack_enabled = 0;
    return 0;
  }
  if (!process_.queues.empty()) return -EBUSY;
  return args.xnack_enabled == 0 ? 0 : -EPERM;
}

int VirtualKfd::runtime_enable(kfd::abi::RuntimeEnableArgs& args) {
  if ((args.mode_mask & kfd::abi::kRuntimeEnable) == 0) {
    process_.runtime = RuntimeState::Disabled;
    return 0;
  }
  if (process_.runtime == RuntimeState::Enabled) return -EBUSY;
  if (!process_.queues.empty()) return -EEXIST;
  process_.runtime = RuntimeState::Enabled;
  return 0;
}

// ---- What such a machine refuses.

int VirtualKfd::dbg_register(kfd_ioctl_dbg_register_args&) {
  return -EPERM;
}
int VirtualKfd::dbg_unregister(kfd_ioctl_dbg_unregister_args&) {
  return -EPERM;
}
int VirtualKfd::dbg_address_watch(kfd_ioctl_dbg_address_watch_args&) {
  return -EPERM;
}
int VirtualKfd::dbg_wave_control(kfd_ioctl_dbg_wave_control_args&) {
  return -EPERM;
}

// A kernel built without HSA_AMD_SVM; the topology does not announce SVM either.
int VirtualKfd::svm(kfd_ioctl_svm_args&) {
  return -EPERM;
}

// Needs CAP_CHECKPOINT_RESTORE, which a client of a test double never has.
int VirtualKfd::criu_op(kfd_ioctl_criu_args&) {
  return -EACCES;
}

// The devices have no debugger support (topology: no debug firmware), so that no process ever
// becomes debugged.
int VirtualKfd::dbg_trap(kfd::abi::DbgTrapArgs& args) {
  constexpr uint32_t kEnable = 0;
  const auto target = static_cast<int>(args.pid);
  if (target != owner_) return -ESRCH;
  if (args.op == kEnable) return -ENODEV;
  return -EINVAL;
}

}  // namespace doppel::mock
