// VirtualDrm: the render-node side of amdgpu: what libdrm and libdrm_amdgpu ask. Device queries,
// buffer objects with CPU and GPU mappings, sharing. The machine is one without kernel rings, as
// compute-only GPUs are: it reports none, and command submission fails as there (EINVAL).
//
// Sources: Linux drm_ioctl.c, amdgpu_kms.c, amdgpu_gem.c, amdgpu_ctx.c, version 3.57.
// Every function expects the driver's lock to be held. Returns 0 or -errno.
#pragma once

#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "backends/kfd/kernel_abi.h"
#include "backends/mock/buffer_object.h"
#include "backends/mock/machine.h"
#include "backends/mock/progress.h"

namespace doppel::mock {

class RenderNodes;
struct InfoAnswer;

/// GB_ADDR_CONFIG, as AMDGPU_INFO_READ_MMR_REG names it: a dword offset (Linux soc21.c).
inline constexpr uint32_t kGbAddrConfig = 0x263e;

class VirtualDrm {
 public:
  VirtualDrm(Machine& machine, Progress& progress, RenderNodes& render_nodes)
      : machine_(machine), progress_(progress), render_nodes_(render_nodes) {}

  int ioctl(DrmFile& file, unsigned long request, uint64_t argument);
  /// What libdrm would say of the node.
  kfd::RenderNodeInfo describe(const VirtualGpu& gpu) const;
  /// The symbolic name of an ioctl number, or "" if it is none.
  static std::string_view ioctl_name(uint32_t number);

 private:
  struct Row;
  static const Row* find_row(uint32_t number);

#define DRM_CALL(number, name, arguments, direction, handler) \
  int handler(DrmFile& file, arguments& args);
#include "backends/mock/drm_ioctls.inc"
#undef DRM_CALL

  /// Copies `bytes` of an answer to the client, cut to the size it asked for.
  static int answer(const drm_amdgpu_info& query, const void* data, size_t bytes);
  template <class T>
  static int answer(const drm_amdgpu_info& query, const T& data) {
    return answer(query, &data, sizeof data);
  }
  /// What a recorded machine said to the query, or nullptr.
  static const InfoAnswer* recorded_answer(const VirtualGpu& gpu, const drm_amdgpu_info& query);
  int answer_device_info(const VirtualGpu& gpu, const drm_amdgpu_info& query);
  int answer_memory(const VirtualGpu& gpu, const drm_amdgpu_info& query);
  int answer_firmware(const VirtualGpu& gpu, const drm_amdgpu_info& query);
  int answer_registers(const VirtualGpu& gpu, const drm_amdgpu_info& query);
  int answer_hw_ip(const VirtualGpu& gpu, const drm_amdgpu_info& query);
  int answer_sensor(const VirtualGpu& gpu, const drm_amdgpu_info& query);

  int map_gem(DrmFile& file, GemObject& gem, const drm_amdgpu_gem_va& args);
  int unmap_gem(DrmFile& file, GemObject& gem, uint64_t va);
  int add_gem(DrmFile& file, GemObject gem, uint32_t& handle);

  Machine& machine_;
  Progress& progress_;
  RenderNodes& render_nodes_;
};

}  // namespace doppel::mock
