#include "backends/kfd/queue_buffers.h"

#include <algorithm>

#include "backends/kfd/kfd_memory.h"
#include "core/align.h"

namespace doppel::kfd {
namespace {

constexpr uint32_t kSgprBytesPerCu = 0x4000;
constexpr uint32_t kLdsBytesPerCu = 0x10000;
constexpr uint32_t kHwregBytesPerCu = 0x1000;
constexpr uint32_t kDebuggerBytesPerWave = 32;
constexpr uint32_t kDebuggerAlignment = 64;
constexpr uint32_t kSaveAreaHeaderBytes = 40;
constexpr uint32_t kGfx10ControlStackLimit = 0x7000;
constexpr uint32_t kNavi10 = 100100;

uint32_t vgpr_bytes_per_cu(uint32_t version) {
  switch (version) {
    case 90008:
    case 90010:
    case 90402:
    case 90500:
      return 0x80000;
    case 110000:
    case 110001:
    case 120000:
    case 120001:
      return 0x60000;
    default:
      return 0x40000;
  }
}

}  // namespace

QueueBufferSizes queue_buffer_sizes(const QueueBufferInputs& in) {
  const uint32_t version = in.gfx_target_version;
  const uint32_t waves =
      version >= kNavi10
          ? in.compute_units * 32
          : std::min(in.compute_units * 40, in.array_count / in.simd_arrays_per_engine * 512);
  const uint32_t bytes_per_cu =
      vgpr_bytes_per_cu(version) + kSgprBytesPerCu + kLdsBytesPerCu + kHwregBytesPerCu;
  const uint32_t stack_bytes_per_wave = version >= kNavi10 ? 12 : 8;

  QueueBufferSizes sizes;
  sizes.eop_bytes = kPageBytes;
  sizes.control_stack_bytes = static_cast<uint32_t>(
      align_up(kSaveAreaHeaderBytes + waves * stack_bytes_per_wave + 8, kPageBytes));
  if (version / 10000 == 10)
    sizes.control_stack_bytes = std::min(sizes.control_stack_bytes, kGfx10ControlStackLimit);
  sizes.context_save_restore_bytes = static_cast<uint32_t>(
      sizes.control_stack_bytes + align_up(uint64_t{in.compute_units} * bytes_per_cu, kPageBytes));
  sizes.debug_bytes =
      static_cast<uint32_t>(align_up(waves * kDebuggerBytesPerWave, kDebuggerAlignment));
  sizes.context_save_area_bytes = align_up(
      uint64_t{sizes.context_save_restore_bytes + sizes.debug_bytes} * in.num_xcc, kPageBytes);
  return sizes;
}

}  // namespace doppel::kfd
