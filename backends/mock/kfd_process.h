// What the KFD knows of a client process (Linux kfd_priv.h: kfd_process, kfd_process_device,
// process_queue_manager). There is one per VirtualKernel; it lives as long as that, whatever the
// client closes, as the kernel's lives as long as the process. Belongs to the driver's lock.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "backends/mock/buffer_object.h"
#include "backends/mock/event_table.h"
#include "backends/mock/id_table.h"
#include "backends/mock/memfd_backing.h"
#include "emulator/gpu.h"

namespace doppel::mock {

inline constexpr uint32_t kMaxQueuesPerProcess = 1024;
inline constexpr uint32_t kDoorbellsPerProcess = 1024;

/// A handle's view of memory: where it appears on which GPUs (Linux kgd_mem).
struct KfdAllocation {
  std::shared_ptr<BufferObject> object;
  uint64_t va = 0;
  uint32_t flags = 0;         // KFD_IOC_ALLOC_MEM_FLAGS_*
  uint64_t user_address = 0;  // of USERPTR memory
  std::set<uint32_t> mapped;  // indices of GPUs
  uint32_t queue_references = 0;

  bool appears_twice() const { return (flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM) != 0; }
  uint64_t va_bytes() const { return object->size() << (appears_twice() ? 1 : 0); }
};

/// A user-mode queue.
struct KfdQueue {
  uint32_t gpu_index = 0;
  uint32_t type = 0;  // KFD_IOC_QUEUE_TYPE_*
  emu::QueueConfig hardware;
  uint32_t percentage = 0;
  uint32_t doorbell = 0;  // slot in the process's doorbells on the GPU
  SdmaSlot sdma;
  uint64_t ring_bytes = 0;
  bool loaded = false;  // the engine knows it
  bool has_gws = false;
  std::vector<uint32_t> cu_mask;

  bool is_sdma() const {
    return type == KFD_IOC_QUEUE_TYPE_SDMA || type == KFD_IOC_QUEUE_TYPE_SDMA_XGMI;
  }
  SdmaPool sdma_pool() const {
    return type == KFD_IOC_QUEUE_TYPE_SDMA_XGMI ? SdmaPool::Xgmi : SdmaPool::Pcie;
  }
  /// Whether hardware runs it (QUEUE_IS_ACTIVE).
  bool should_run() const { return ring_bytes != 0 && hardware.ring != 0 && percentage != 0; }
};

/// The process on one GPU.
struct ProcessDevice {
  VirtualGpu* gpu = nullptr;
  std::shared_ptr<DrmFile> drm;  // set by ACQUIRE_VM
  IdTable<KfdAllocation> allocations;
  PageMapping doorbells;
  PageMapping mmio;
  std::bitset<kDoorbellsPerProcess> doorbells_in_use;
  uint32_t queue_count = 0;
  uint32_t gws_queue_count = 0;
  uint64_t trap_handler = 0;
  uint64_t trap_memory = 0;
  uint64_t scratch_backing = 0;
};

enum class RuntimeState : uint8_t { Disabled, Enabled };

/// Handles are the owner's gpu_id above a small number (Linux MAKE_HANDLE).
constexpr uint64_t make_handle(uint32_t gpu_id, uint32_t id) {
  return uint64_t{gpu_id} << 32 | id;
}
constexpr uint32_t handle_gpu_id(uint64_t handle) {
  return static_cast<uint32_t>(handle >> 32);
}
constexpr uint32_t handle_id(uint64_t handle) {
  return static_cast<uint32_t>(handle);
}

struct KfdProcess {
  std::vector<ProcessDevice> devices;  // by GPU index
  IdTable<KfdQueue> queues;
  EventTable events;
  uint64_t event_page_handle = 0;
  PageMapping event_page;  // the driver's own, where the client brought none
  RuntimeState runtime = RuntimeState::Disabled;

  ProcessDevice* find_device(uint32_t gpu_id);
  KfdAllocation* find_allocation(uint64_t handle);
};

}  // namespace doppel::mock
