// How large the buffers of a compute queue are: the EOP buffer and the context save area that
// CREATE_QUEUE must be given. Runtime and driver compute them from the node's properties alone.
// Source: Linux drivers/gpu/drm/amd/amdkfd/kfd_queue.c (kfd_queue_ctx_save_restore_size).
#pragma once

#include <cstdint>

namespace doppel::kfd {

/// What the sizes depend on: node properties of the topology.
struct QueueBufferInputs {
  uint32_t gfx_target_version = 0;
  uint32_t compute_units = 0;  // simd_count / simd_per_cu / num_xcc
  uint32_t array_count = 0;
  uint32_t simd_arrays_per_engine = 1;
  uint32_t num_xcc = 1;
};

struct QueueBufferSizes {
  uint32_t eop_bytes = 0;                   // eop_buffer_size
  uint32_t control_stack_bytes = 0;         // ctl_stack_size
  uint32_t context_save_restore_bytes = 0;  // ctx_save_restore_size: control stack and wave data
  uint32_t debug_bytes = 0;                 // the debugger's share behind it, per XCC
  uint64_t context_save_area_bytes = 0;     // to allocate: all of the above for all XCCs
};

QueueBufferSizes queue_buffer_sizes(const QueueBufferInputs& inputs);

}  // namespace doppel::kfd
