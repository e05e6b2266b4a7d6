// The GPU models. PCI ids and marketing names: libdrm data/amdgpu.ids. Shader engines, arrays, CUs,
// caches and SDMA engines: amdgpu gc_info of each ASIC and kfd_device.c, kfd_crat.c of Linux;
// DRM families: amdgpu_drm.h; IP versions: amdgpu_discovery.c.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libdrm/amdgpu_drm.h>

#include "backends/mock/device_profile.h"
#include "core/assert.h"

namespace doppel::mock {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint32_t kFamilyNv = AMDGPU_FAMILY_NV;
constexpr uint32_t kFamilyAi = AMDGPU_FAMILY_AI;
// Newer than Debian 12's amdgpu_drm.h.
constexpr uint32_t kFamilyGc1100 = 145;
constexpr uint32_t kFamilyGc1103 = 148;
constexpr uint32_t kFamilyGc1150 = 150;

constexpr CacheSizes kRdna3Caches{.vector_l1 = 32,
                                  .scalar_l1 = 16,
                                  .instruction = 32,
                                  .shader_array_l1 = 256,
                                  .l2 = 6144,
                                  .infinity = 98304};
constexpr CacheSizes kRdna2Caches{.vector_l1 = 16,
                                  .scalar_l1 = 16,
                                  .instruction = 32,
                                  .shader_array_l1 = 128,
                                  .l2 = 4096,
                                  .infinity = 131072};

constexpr CacheSizes with_outer(CacheSizes caches, uint32_t l2, uint32_t infinity) {
  caches.l2 = l2;
  caches.infinity = infinity;
  return caches;
}

DeviceProfile make(std::string_view target, DeviceProfile profile) {
  auto row = find_target(target);
  DOPPEL_ASSERT(row.has_value(), "a profile names a target that does not exist");
  profile.target = *row;
  return profile;
}

DeviceProfile navi31() {
  return make("gfx1100", {.node_name = "ip discovery",
                          .marketing_name = "AMD Radeon RX 7900 XTX",
                          .device_id = 0x744c,
                          .pci_revision = 0xc8,
                          .external_revision = 0x01,
                          .drm_family = kFamilyGc1100,
                          .compute_units = 96,
                          .shader_engines = 6,
                          .arrays_per_engine = 2,
                          .max_engine_clock_mhz = 2371,
                          .max_memory_clock_mhz = 1249,
                          .vram_bytes = 24 * kGiB,
                          .vram_bus_bits = 384,
                          .vram_type = AMDGPU_VRAM_TYPE_GDDR6,
                          .cache = kRdna3Caches,
                          .gb_addr_config = 0x545,
                          .mec_firmware = 494,
                          .sdma_firmware = 19,
                          .gc = {11, 0, 0},
                          .sdma = {6, 0, 0},
                          .nbif = {4, 3, 0}});
}

DeviceProfile navi32() {
  DeviceProfile profile = navi31();
  profile.marketing_name = "AMD Radeon RX 7800 XT";
  profile.device_id = 0x747e;
  profile.external_revision = 0x20;
  profile.compute_units = 60;
  profile.shader_engines = 3;
  profile.max_engine_clock_mhz = 2254;
  profile.max_memory_clock_mhz = 1219;
  profile.vram_bytes = 16 * kGiB;
  profile.vram_bus_bits = 256;
  profile.cache = with_outer(kRdna3Caches, 4096, 65536);
  profile.gc = {11, 0, 3};
  profile.sdma = {6, 0, 3};
  return make("gfx1101", profile);
}

DeviceProfile navi33() {
  DeviceProfile profile = navi31();
  profile.marketing_name = "AMD Radeon RX 7600";
  profile.device_id = 0x7480;
  profile.pci_revision = 0xcf;
  profile.external_revision = 0x10;
  profile.compute_units = 32;
  profile.shader_engines = 2;
  profile.max_engine_clock_mhz = 2356;
  profile.max_memory_clock_mhz = 1124;
  profile.vram_bytes = 8 * kGiB;
  profile.vram_bus_bits = 128;
  profile.cache = with_outer(kRdna3Caches, 2048, 32768);
  profile.gc = {11, 0, 2};
  profile.sdma = {6, 0, 2};
  return make("gfx1102", profile);
}

DeviceProfile phoenix() {
  DeviceProfile profile = navi31();
  profile.marketing_name = "AMD Radeon 780M";
  profile.device_id = 0x15bf;
  profile.pci_revision = 0xc4;
  profile.external_revision = 0x05;
  profile.drm_family = kFamilyGc1103;
  profile.apu = true;
  profile.compute_units = 12;
  profile.shader_engines = 1;
  profile.max_engine_clock_mhz = 2700;
  profile.max_memory_clock_mhz = 2800;
  profile.vram_bytes = 4 * kGiB;
  profile.vram_bus_bits = 128;
  profile.vram_type = AMDGPU_VRAM_TYPE_DDR5;
  profile.cache = with_outer(kRdna3Caches, 2048, 0);
  profile.sdma_engines = 1;
  profile.gc = {11, 0, 1};
  profile.sdma = {6, 0, 1};
  profile.nbif = {7, 7, 0};
  return make("gfx1103", profile);
}

DeviceProfile strix_point() {
  DeviceProfile profile = phoenix();
  profile.marketing_name = "AMD Radeon 890M";
  profile.device_id = 0x150e;
  profile.pci_revision = 0xc1;
  profile.external_revision = 0x01;
  profile.drm_family = kFamilyGc1150;
  profile.compute_units = 16;
  profile.max_engine_clock_mhz = 2900;
  profile.gc = {11, 5, 0};
  profile.sdma = {6, 1, 0};
  profile.nbif = {7, 11, 0};
  return make("gfx1150", profile);
}

DeviceProfile strix_halo() {
  DeviceProfile profile = strix_point();
  profile.marketing_name = "AMD Radeon 8060S";
  profile.device_id = 0x1586;
  profile.external_revision = 0xc1;
  profile.compute_units = 40;
  profile.shader_engines = 2;
  profile.vram_bytes = 16 * kGiB;
  profile.vram_bus_bits = 256;
  profile.cache = with_outer(kRdna3Caches, 2048, 32768);
  profile.gc = {11, 5, 1};
  profile.sdma = {6, 1, 1};
  return make("gfx1151", profile);
}

DeviceProfile navi21() {
  return make("gfx1030", {.node_name = "sienna_cichlid",
                          .marketing_name = "AMD Radeon RX 6900 XT",
                          .device_id = 0x73bf,
                          .pci_revision = 0xc0,
                          .external_revision = 0x29,
                          .drm_family = kFamilyNv,
                          .compute_units = 80,
                          .shader_engines = 4,
                          .arrays_per_engine = 2,
                          .max_engine_clock_mhz = 2660,
                          .max_memory_clock_mhz = 1000,
                          .vram_bytes = 16 * kGiB,
                          .vram_bus_bits = 256,
                          .vram_type = AMDGPU_VRAM_TYPE_GDDR6,
                          .cache = kRdna2Caches,
                          .sdma_engines = 4,
                          .sdma_queues_per_engine = 8,
                          .gb_addr_config = 0x444,
                          .mec_firmware = 88,
                          .sdma_firmware = 76,
                          .gc = {10, 3, 0},
                          .sdma = {5, 2, 0},
                          .nbif = {2, 5, 0}});
}

DeviceProfile navi22() {
  DeviceProfile profile = navi21();
  profile.node_name = "navy_flounder";
  profile.marketing_name = "AMD Radeon RX 6700 XT";
  profile.device_id = 0x73df;
  profile.pci_revision = 0xc1;
  profile.external_revision = 0x32;
  profile.compute_units = 40;
  profile.shader_engines = 2;
  profile.max_engine_clock_mhz = 2855;
  profile.vram_bytes = 12 * kGiB;
  profile.vram_bus_bits = 192;
  profile.cache = with_outer(kRdna2Caches, 3072, 98304);
  profile.sdma_engines = 2;
  profile.gc = {10, 3, 2};
  profile.sdma = {5, 2, 2};
  return make("gfx1031", profile);
}

DeviceProfile vega20() {
  return make("gfx906", {.node_name = "vega20",
                         .marketing_name = "AMD Radeon VII",
                         .device_id = 0x66af,
                         .pci_revision = 0xc1,
                         .external_revision = 0x29,
                         .drm_family = kFamilyAi,
                         .compute_units = 60,
                         .shader_engines = 4,
                         .simd_per_cu = 4,
                         .max_waves_per_simd = 10,
                         .wave_front_size = 64,
                         .max_engine_clock_mhz = 1801,
                         .max_memory_clock_mhz = 1000,
                         .vram_bytes = 16 * kGiB,
                         .vram_bus_bits = 4096,
                         .vram_type = AMDGPU_VRAM_TYPE_HBM,
                         .cache = {.vector_l1 = 16,
                                   .scalar_l1 = 16,
                                   .instruction = 32,
                                   .l2 = 4096,
                                   .cus_per_scalar_cache = 3,
                                   .line_bytes = 64},
                         .sdma_queues_per_engine = 8,
                         .cp_queues = 24,
                         .gb_addr_config = 0x26110004,
                         .mec_firmware = 458,
                         .sdma_firmware = 145,
                         .gc = {9, 4, 0},
                         .sdma = {4, 2, 0},
                         .nbif = {7, 4, 0}});
}

DeviceProfile aldebaran() {
  DeviceProfile profile = vega20();
  profile.node_name = "aldebaran";
  profile.marketing_name = "AMD Instinct MI210";
  profile.device_id = 0x740f;
  profile.pci_revision = 0x02;
  profile.external_revision = 0x3d;
  profile.compute_units = 104;
  profile.shader_engines = 8;
  profile.max_waves_per_simd = 8;
  profile.max_engine_clock_mhz = 1700;
  profile.max_memory_clock_mhz = 1600;
  profile.vram_bytes = 64 * kGiB;
  profile.cache.l2 = 8192;
  profile.cache.cus_per_scalar_cache = 2;
  profile.sdma_xgmi_engines = 3;
  profile.mec_firmware = 50;
  profile.sdma_firmware = 8;
  profile.gc = {9, 4, 2};
  profile.sdma = {4, 4, 0};
  return make("gfx90a", profile);
}

constexpr std::array kModels = {&navi21,  &navi22,      &navi31,     &navi32, &navi33,
                                &phoenix, &strix_point, &strix_halo, &vega20, &aldebaran};

}  // namespace

bool DeviceProfile::has_mes() const {
  return gc.major >= 11;
}

kfd::QueueBufferSizes DeviceProfile::queue_buffers() const {
  return kfd::queue_buffer_sizes({.gfx_target_version = target->gfx_target_version,
                                  .compute_units = compute_units,
                                  .array_count = array_count(),
                                  .simd_arrays_per_engine = arrays_per_engine});
}

std::vector<std::string_view> device_profile_names() {
  std::vector<std::string_view> names;
  for (auto model : kModels) names.push_back(model().target->name);
  return names;
}

Result<DeviceProfile> find_device_profile(std::string_view name) {
  for (auto model : kModels) {
    if (model().target->name == name) return model();
  }
  return error(StatusCode::NotFound,
               fmt::format("No emulated GPU has this name ({}); there are {}.", name,
                           fmt::join(device_profile_names(), ", ")));
}

}  // namespace doppel::mock
