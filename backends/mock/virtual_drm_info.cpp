// VirtualDrm: AMDGPU_INFO. Linux amdgpu_kms.c: amdgpu_info_ioctl.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backends/mock/persona.h"
#include "backends/mock/user_memory.h"
#include "backends/mock/virtual_drm.h"

namespace doppel::mock {
namespace {

constexpr uint64_t kVmReserved = 0x10000;  // bytes at the bottom that clients leave alone
constexpr uint64_t kGmcHoleStart = uint64_t{1} << 47;
constexpr uint64_t kGmcHoleEnd = 0xffff800000000000;
constexpr uint32_t kMaxRegisters = 128;
constexpr uint32_t kKilohertzPerMegahertz = 1000;
constexpr uint32_t kGpuCounterKilohertz = 100'000;

// Registers that any client may read, in dwords (soc15/nv/soc21_allowed_read_registers).
constexpr uint32_t kGrbmStatus = 0x2004;

/// What drm_amdgpu_info_device has grown since Debian 12's header: Linux amdgpu_drm.h 3.57.
struct DeviceInfo {
  drm_amdgpu_info_device base;
  uint64_t min_engine_clock;
  uint64_t min_memory_clock;
  uint32_t tcp_cache_size;  // KiB
  uint32_t num_sqc_per_wgp;
  uint32_t sqc_data_cache_size;
  uint32_t sqc_inst_cache_size;
  uint32_t gl1c_cache_size;
  uint32_t gl2c_cache_size;
  uint64_t mall_size;  // bytes
  uint32_t enabled_rb_pipes_mask_hi;
  uint32_t shadow_size;
  uint32_t shadow_alignment;
  uint32_t csa_size;
  uint32_t csa_alignment;
};
static_assert(sizeof(drm_amdgpu_info_device) == 368);
static_assert(sizeof(DeviceInfo) == 440);

/// One bit per CU, engine by engine and array by array. The structure has room for four engines;
/// the fifth and later ones are in the upper arrays of the first four (amdgpu_drm.h).
void fill_cu_bitmap(drm_amdgpu_info_device& info, const DeviceProfile& gpu) {
  uint32_t left = gpu.compute_units;
  for (uint32_t engine = 0; engine < gpu.shader_engines; ++engine) {
    for (uint32_t array = 0; array < gpu.arrays_per_engine; ++array) {
      const uint32_t cus = std::min(left, gpu.cu_per_array());
      left -= cus;
      const uint32_t row = engine % 4;
      const uint32_t column = array + (engine / 4) * 2;
      if (column < 4) info.cu_bitmap[row][column] = (uint32_t{1} << cus) - 1;
    }
  }
}

DeviceInfo device_info(const DeviceProfile& gpu) {
  DeviceInfo info{};
  drm_amdgpu_info_device& base = info.base;
  base.device_id = gpu.device_id;
  base.external_rev = gpu.external_revision;
  base.pci_rev = gpu.pci_revision;
  base.family = gpu.drm_family;
  base.num_shader_engines = gpu.shader_engines;
  base.num_shader_arrays_per_engine = gpu.arrays_per_engine;
  base.gpu_counter_freq = kGpuCounterKilohertz;
  base.max_engine_clock = gpu.max_engine_clock_mhz * kKilohertzPerMegahertz;
  base.max_memory_clock = gpu.max_memory_clock_mhz * kKilohertzPerMegahertz;
  base.cu_active_number = gpu.compute_units;
  fill_cu_bitmap(base, gpu);
  base.num_hw_gfx_contexts = 8;
  base.ids_flags = gpu.apu ? AMDGPU_IDS_FLAGS_FUSION : 0;
  base.virtual_address_offset = kVmReserved;
  base.virtual_address_max = kGmcHoleStart;
  base.high_va_offset = kGmcHoleEnd;
  base.high_va_max = ~uint64_t{kVmReserved - 1};
  base.virtual_address_alignment = kPageBytes;
  base.pte_fragment_size = uint32_t{2} << 20;
  base.gart_page_size = kPageBytes;
  base.vram_type = gpu.vram_type;
  base.vram_bit_width = gpu.vram_bus_bits;
  base.wave_front_size = gpu.wave_front_size;
  base.num_shader_visible_vgprs = gpu.target->addressable_vgprs;
  base.num_cu_per_sh = gpu.cu_per_array();
  base.num_tcc_blocks = 16;
  if (gpu.gc.major < 11) return info;
  info.tcp_cache_size = gpu.cache.vector_l1;
  info.num_sqc_per_wgp = 1;
  info.sqc_data_cache_size = gpu.cache.scalar_l1;
  info.sqc_inst_cache_size = gpu.cache.instruction;
  info.gl1c_cache_size = gpu.cache.shader_array_l1;
  info.gl2c_cache_size = gpu.cache.l2;
  info.mall_size = uint64_t{gpu.cache.infinity} * 1024;
  return info;
}

drm_amdgpu_heap_info heap(uint64_t total, uint64_t used) {
  return {.total_heap_size = total,
          .usable_heap_size = total,
          .heap_usage = used,
          .max_allocation = total / 4 * 3};
}

}  // namespace

int VirtualDrm::answer(const drm_amdgpu_info& query, const void* data, size_t bytes) {
  return copy_to_user(query.return_pointer, data, std::min<size_t>(bytes, query.return_size))
             ? 0
             : -EFAULT;
}

int VirtualDrm::answer_device_info(const VirtualGpu& gpu, const drm_amdgpu_info& query) {
  return answer(query, device_info(gpu.profile()));
}

int VirtualDrm::answer_memory(const VirtualGpu& gpu, const drm_amdgpu_info& query) {
  const DeviceProfile& profile = gpu.profile();
  const uint64_t visible = profile.visible_vram_bytes();
  const uint64_t visible_used = std::min(gpu.vram_used(), visible);
  switch (query.query) {
    case AMDGPU_INFO_VRAM_USAGE:
      return answer(query, gpu.vram_used());
    case AMDGPU_INFO_VIS_VRAM_USAGE:
      return answer(query, visible_used);
    case AMDGPU_INFO_GTT_USAGE:
      return answer(query, machine_.gtt_used());
    case AMDGPU_INFO_VRAM_GTT:
      return answer(query, drm_amdgpu_info_vram_gtt{.vram_size = profile.vram_bytes,
                                                    .vram_cpu_accessible_size = visible,
                                                    .gtt_size = machine_.gtt_limit()});
    default:
      return answer(query,
                    drm_amdgpu_memory_info{.vram = heap(profile.vram_bytes, gpu.vram_used()),
                                           .cpu_accessible_vram = heap(visible, visible_used),
                                           .gtt = heap(machine_.gtt_limit(), machine_.gtt_used())});
  }
}

int VirtualDrm::answer_firmware(const VirtualGpu& gpu, const drm_amdgpu_info& query) {
  if (query.query_fw.ip_instance != 0) return -EINVAL;
  const DeviceProfile& profile = gpu.profile();
  drm_amdgpu_info_firmware firmware{};
  switch (query.query_fw.fw_type) {
    case AMDGPU_INFO_FW_GFX_MEC:
      if (query.query_fw.index > 1) return -EINVAL;
      firmware.ver = profile.mec_firmware;
      break;
    case AMDGPU_INFO_FW_SDMA:
      if (query.query_fw.index >= profile.sdma_engines + profile.sdma_xgmi_engines) return -EINVAL;
      firmware.ver = profile.sdma_firmware;
      break;
    default:
      // Firmware that exists in the ABI and not on this machine reports version 0.
      if (query.query_fw.fw_type == 0 || query.query_fw.fw_type > AMDGPU_INFO_FW_TOC)
        return -EINVAL;
  }
  return answer(query, firmware);
}

int VirtualDrm::answer_registers(const VirtualGpu& gpu, const drm_amdgpu_info& query) {
  const auto& read = query.read_mmr_reg;
  if (read.count > kMaxRegisters) return -EINVAL;
  std::vector<uint32_t> values;
  for (uint32_t i = 0; i < read.count; ++i) {
    const uint32_t reg = read.dword_offset + i;
    if (reg != kGbAddrConfig && reg != kGrbmStatus) return -EFAULT;
    values.push_back(reg == kGbAddrConfig ? gpu.profile().gb_addr_config : 0);
  }
  return answer(query, values.data(), values.size() * sizeof values[0]);
}

int VirtualDrm::answer_hw_ip(const VirtualGpu& gpu, const drm_amdgpu_info& query) {
  const DeviceProfile& profile = gpu.profile();
  const uint32_t type = query.query_hw_ip.type;
  const bool gfx = type == AMDGPU_HW_IP_GFX || type == AMDGPU_HW_IP_COMPUTE;
  const bool dma = type == AMDGPU_HW_IP_DMA;
  if (query.query == AMDGPU_INFO_HW_IP_COUNT) {
    if (!gfx && !dma) return -EINVAL;
    return answer(query, dma ? profile.sdma_engines + profile.sdma_xgmi_engines : uint32_t{1});
  }
  if (type >= AMDGPU_HW_IP_NUM || query.query_hw_ip.ip_instance >= AMDGPU_HW_IP_INSTANCE_MAX_COUNT)
    return -EINVAL;
  drm_amdgpu_info_hw_ip ip{};
  if (gfx || dma) {
    const IpVersion& version = dma ? profile.sdma : profile.gc;
    ip.hw_ip_version_major = version.major;
    ip.hw_ip_version_minor = version.minor;
    ip.ib_start_alignment = dma ? 256 : 32;
    ip.ib_size_alignment = dma ? 4 : 32;
    ip.available_rings = 0;
  }
  return answer(query, ip);
}

// The sensors that an idle machine without a power controller can tell of.
int VirtualDrm::answer_sensor(const VirtualGpu& gpu, const drm_amdgpu_info& query) {
  switch (query.sensor_info.type) {
    case AMDGPU_INFO_SENSOR_GFX_SCLK:
    case AMDGPU_INFO_SENSOR_STABLE_PSTATE_GFX_SCLK:
      return answer(query, gpu.profile().max_engine_clock_mhz);
    case AMDGPU_INFO_SENSOR_GFX_MCLK:
    case AMDGPU_INFO_SENSOR_STABLE_PSTATE_GFX_MCLK:
      return answer(query, gpu.profile().max_memory_clock_mhz);
    default:
      return -EINVAL;
  }
}

const InfoAnswer* VirtualDrm::recorded_answer(const VirtualGpu& gpu, const drm_amdgpu_info& query) {
  if (gpu.persona() == nullptr) return nullptr;
  std::array<uint32_t, 4> parameters{};
  std::memcpy(parameters.data(), &query.mode_crtc, sizeof parameters);
  return gpu.persona()->find(query.query, parameters);
}

int VirtualDrm::info(DrmFile& file, drm_amdgpu_info& args) {
  if (args.return_size == 0 || args.return_pointer == 0) return -EINVAL;
  const VirtualGpu& gpu = file.gpu();
  if (const InfoAnswer* recorded = recorded_answer(gpu, args)) {
    if (recorded->result != 0) return recorded->result;
    return answer(args, recorded->bytes.data(), recorded->bytes.size());
  }
  switch (args.query) {
    case AMDGPU_INFO_ACCEL_WORKING:
      return answer(args, uint32_t{1});
    case AMDGPU_INFO_HW_IP_INFO:
    case AMDGPU_INFO_HW_IP_COUNT:
      return answer_hw_ip(gpu, args);
    case AMDGPU_INFO_TIMESTAMP:
      return answer(args, gpu_ticks(progress_.now_ns()));
    case AMDGPU_INFO_FW_VERSION:
      return answer_firmware(gpu, args);
    case AMDGPU_INFO_NUM_BYTES_MOVED:
    case AMDGPU_INFO_NUM_EVICTIONS:
    case AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS:
      return answer(args, uint64_t{0});  // nothing is ever evicted here
    case AMDGPU_INFO_VRAM_USAGE:
    case AMDGPU_INFO_VIS_VRAM_USAGE:
    case AMDGPU_INFO_GTT_USAGE:
    case AMDGPU_INFO_VRAM_GTT:
    case AMDGPU_INFO_MEMORY:
      return answer_memory(gpu, args);
    case AMDGPU_INFO_GDS_CONFIG:
      return answer(args, drm_amdgpu_info_gds{});
    case AMDGPU_INFO_READ_MMR_REG:
      return answer_registers(gpu, args);
    case AMDGPU_INFO_DEV_INFO:
      return answer_device_info(gpu, args);
    case AMDGPU_INFO_SENSOR:
      return answer_sensor(gpu, args);
    case AMDGPU_INFO_VRAM_LOST_COUNTER:
      return answer(args, uint32_t{0});
    default:
      return -EINVAL;  // no displays, no video engines, no VBIOS, no RAS
  }
}

}  // namespace doppel::mock
