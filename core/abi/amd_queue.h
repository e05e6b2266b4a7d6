// AmdQueue (amd_queue_t): what an AQL queue and its packet processor share beside the ring. KFD's
// CREATE_QUEUE passes the addresses of read_dispatch_id and write_dispatch_id, which is how the
// processor finds the rest. Source: ROCr's amd_hsa_queue.h and hsa.h (hsa_queue_t).
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppel::abi {

/// The public head of a queue (hsa_queue_t).
struct HsaQueue {
  uint32_t type;
  uint32_t features;
  uint64_t base_address;
  uint64_t doorbell_signal;  // handle
  uint32_t size;             // packets, a power of two
  uint32_t reserved1;
  uint64_t id;
};
static_assert(sizeof(HsaQueue) == 40);

/// Bits of AmdQueue::queue_properties.
enum : uint32_t {
  AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER = 1u << 0,
  AMD_QUEUE_PROPERTIES_IS_PTR64 = 1u << 1,
  AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS = 1u << 2,
  AMD_QUEUE_PROPERTIES_ENABLE_PROFILING = 1u << 3,
  AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE = 1u << 4,
};

struct alignas(64) AmdQueue {
  HsaQueue hsa_queue;
  uint32_t caps;  // ROCr 6: bit 0 asks for asynchronous scratch reclaim
  uint32_t reserved1[3];
  uint64_t write_dispatch_id;
  uint32_t group_segment_aperture_base_hi;
  uint32_t private_segment_aperture_base_hi;
  uint32_t max_cu_id;
  uint32_t max_wave_id;
  uint64_t max_legacy_doorbell_dispatch_id_plus_1;
  uint32_t legacy_doorbell_lock;
  uint32_t reserved2[9];
  uint64_t read_dispatch_id;
  uint32_t read_dispatch_id_field_base_byte_offset;
  uint32_t compute_tmpring_size;
  uint32_t scratch_resource_descriptor[4];
  uint64_t scratch_backing_memory_location;
  uint64_t scratch_backing_memory_byte_size;
  uint32_t scratch_wave64_lane_byte_size;
  uint32_t queue_properties;
  uint32_t reserved3[2];
  uint64_t queue_inactive_signal;  // handle; see the codes below
  uint32_t reserved4[14];
};

static_assert(sizeof(AmdQueue) == 256);
static_assert(offsetof(AmdQueue, caps) == 40);
static_assert(offsetof(AmdQueue, write_dispatch_id) == 56);
static_assert(offsetof(AmdQueue, group_segment_aperture_base_hi) == 64);
static_assert(offsetof(AmdQueue, private_segment_aperture_base_hi) == 68);
static_assert(offsetof(AmdQueue, max_cu_id) == 72);
static_assert(offsetof(AmdQueue, max_wave_id) == 76);
static_assert(offsetof(AmdQueue, read_dispatch_id) == 128);
static_assert(offsetof(AmdQueue, compute_tmpring_size) == 140);
static_assert(offsetof(AmdQueue, scratch_resource_descriptor) == 144);
static_assert(offsetof(AmdQueue, scratch_backing_memory_location) == 160);
static_assert(offsetof(AmdQueue, scratch_backing_memory_byte_size) == 168);
static_assert(offsetof(AmdQueue, scratch_wave64_lane_byte_size) == 176);
static_assert(offsetof(AmdQueue, queue_properties) == 180);
static_assert(offsetof(AmdQueue, queue_inactive_signal) == 192);

/// Values that the packet processor gives queue_inactive_signal: requests for scratch memory, which
/// ROCr answers by clearing the signal, and errors, which end the queue. Source: ROCr's
/// AqlQueue::DynamicScratchHandler.
enum QueueInactive : uint32_t {
  kQueueScratchWave64 = 0x1,
  kQueueErrorDimensions = 0x2,
  kQueueErrorGroupMemory = 0x4,
  kQueueErrorCodeObject = 0x8,
  kQueueErrorPacket = 0x20,
  kQueueErrorWorkgroupSize = 0x40,
  kQueueErrorRegisters = 0x80,
  kQueueErrorVendorPacket = 0x100,
  kQueueScratchOnceDone = 0x200,
  kQueueScratchWave32 = 0x400,
  kQueueErrorAperture = 0x20000000,
  kQueueErrorIllegalInstruction = 0x40000000,
  kQueueErrorTrap = 0x80000000,
};

}  // namespace doppel::abi
