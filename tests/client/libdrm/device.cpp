// A libdrm client: asks libdrm_amdgpu everything that rocm-smi and profilers ask of a card, shares
// and maps buffers, and tries to submit work. `libdrm_device` prints one fact a line; exit status 1
// and the call that failed if libdrm says no where a card would say yes.
#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

#define CHECK(call)                                                 \
  do {                                                              \
    const int check_result = (call);                                \
    if (check_result != 0) {                                        \
      std::printf("%s: %s\n", #call, std::strerror(-check_result)); \
      std::exit(1);                                                 \
    }                                                               \
  } while (false)

constexpr uint64_t kBytes = 64 << 10;

void print_identity(int fd, amdgpu_device_handle device) {
  drmVersionPtr version = drmGetVersion(fd);
  std::printf("driver: %s %d\n", version->name, version->version_major);
  drmFreeVersion(version);
  std::printf("render node: %d\n", drmGetNodeTypeFromFd(fd) == DRM_NODE_RENDER);
  std::printf("name: %s\n", amdgpu_get_marketing_name(device));
  amdgpu_gpu_info info{};
  CHECK(amdgpu_query_gpu_info(device, &info));
  std::printf("device: %x, shader engines: %u, compute units: %u\n", info.asic_id,
              info.num_shader_engines, info.cu_active_number);
}

void print_memory(amdgpu_device_handle device) {
  drm_amdgpu_memory_info memory{};
  CHECK(amdgpu_query_info(device, AMDGPU_INFO_MEMORY, sizeof memory, &memory));
  amdgpu_heap_info visible{};
  CHECK(amdgpu_query_heap_info(device, AMDGPU_GEM_DOMAIN_VRAM,
                               AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED, &visible));
  std::printf("vram: %" PRIu64 ", visible: %" PRIu64 ", used: %" PRIu64 "\n",
              uint64_t{memory.vram.total_heap_size}, visible.heap_size,
              uint64_t{memory.vram.heap_usage});
}

void print_engines(amdgpu_device_handle device) {
  uint32_t version = 0, feature = 0;
  CHECK(amdgpu_query_firmware_version(device, AMDGPU_INFO_FW_GFX_MEC, 0, 0, &version, &feature));
  std::printf("mec firmware: %d\n", version != 0);
  for (const unsigned type : {AMDGPU_HW_IP_COMPUTE, AMDGPU_HW_IP_DMA}) {
    drm_amdgpu_info_hw_ip ip{};
    CHECK(amdgpu_query_hw_ip_info(device, type, 0, &ip));
    std::printf("ip %u: %u.%u\n", type, ip.hw_ip_version_major, ip.hw_ip_version_minor);
  }
  uint32_t clock = 0;
  CHECK(amdgpu_query_sensor_info(device, AMDGPU_INFO_SENSOR_GFX_SCLK, sizeof clock, &clock));
  std::printf("clock: %u MHz\n", clock);
  std::printf("temperature: %d\n",
              amdgpu_query_sensor_info(device, AMDGPU_INFO_SENSOR_GPU_TEMP, sizeof clock, &clock));
}

void print_capabilities(int fd) {
  uint64_t prime = 0, syncobj = 1;
  CHECK(drmGetCap(fd, DRM_CAP_PRIME, &prime));
  CHECK(drmGetCap(fd, DRM_CAP_SYNCOBJ, &syncobj));
  std::printf("prime: %" PRIu64 ", syncobj: %" PRIu64 "\n", prime, syncobj);
}

amdgpu_bo_handle make_buffer(amdgpu_device_handle device) {
  amdgpu_bo_alloc_request request{};
  request.alloc_size = kBytes;
  request.phys_alignment = 4096;
  request.preferred_heap = AMDGPU_GEM_DOMAIN_VRAM;
  request.flags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
  amdgpu_bo_handle buffer = nullptr;
  CHECK(amdgpu_bo_alloc(device, &request, &buffer));
  return buffer;
}

/// Writes through the buffer, and reads back through its dma-buf as imported again.
void share_a_buffer(amdgpu_device_handle device) {
  amdgpu_bo_handle buffer = make_buffer(device);
  void* mapped = nullptr;
  CHECK(amdgpu_bo_cpu_map(buffer, &mapped));
  std::strcpy(static_cast<char*>(mapped) + kBytes - 16, "shared");
  uint32_t dma_buf = 0;
  CHECK(amdgpu_bo_export(buffer, amdgpu_bo_handle_type_dma_buf_fd, &dma_buf));
  amdgpu_bo_import_result imported{};
  CHECK(amdgpu_bo_import(device, amdgpu_bo_handle_type_dma_buf_fd, dma_buf, &imported));
  void* again = nullptr;
  CHECK(amdgpu_bo_cpu_map(imported.buf_handle, &again));
  std::printf("dma-buf: %" PRIu64 " bytes, \"%s\"\n", imported.alloc_size,
              static_cast<const char*>(again) + kBytes - 16);
  print_memory(device);
  close(static_cast<int>(dma_buf));
  CHECK(amdgpu_bo_cpu_unmap(imported.buf_handle));
  CHECK(amdgpu_bo_free(imported.buf_handle));
  CHECK(amdgpu_bo_cpu_unmap(buffer));
  CHECK(amdgpu_bo_free(buffer));
}

}  // namespace

int main() {
  const int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  uint32_t major = 0, minor = 0;
  amdgpu_device_handle device = nullptr;
  CHECK(amdgpu_device_initialize(fd, &major, &minor, &device));
  print_identity(fd, device);
  print_memory(device);
  print_engines(device);
  print_capabilities(fd);
  share_a_buffer(device);
  amdgpu_context_handle context = nullptr;
  std::printf("context: %d\n", amdgpu_cs_ctx_create(device, &context));
  CHECK(amdgpu_device_deinitialize(device));
  return 0;
}
