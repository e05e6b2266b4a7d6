// VirtualKfd: user-mode queues. Linux kfd_chardev.c, kfd_process_queue_manager.c, kfd_queue.c,
// kfd_device_queue_manager.c.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backends/mock/user_memory.h"
#include "backends/mock/virtual_kfd.h"

namespace doppel::mock {
namespace {

// The kernel's own ENOTSUPP, which user space has no name for; it escapes from CREATE_QUEUE.
constexpr int kErrnoNotSupported = 524;

constexpr uint32_t kPercentageMask = 0xff;     // above: the XCC that PM4 goes to
constexpr uint32_t kMaxQueuesPerDevice = 127;  // of a process, a limit of the hardware scheduler
constexpr uint32_t kExactBuffersSince = 17;    // KFD ABI minor version
constexpr uint32_t kMaxCuMaskBits = 1024;
constexpr uint32_t kDoorbellBytes = 8;

// Doorbell slots of SDMA engines: 0x100 + 10 per engine, odd queues in the second page (Linux
// amdgpu_doorbell.h AMDGPU_NAVI10_DOORBELL_sDMA_ENGINE*, kfd_priv.h KFD_QUEUE_DOORBELL_MIRROR).
constexpr uint32_t kFirstSdmaDoorbell = 0x100;
constexpr uint32_t kSdmaDoorbellsPerEngine = 10;
constexpr uint32_t kDoorbellMirror = 512;
constexpr uint32_t kNonComputeDoorbells = 0x100;  // from kFirstSdmaDoorbell on, and mirrored

bool is_known_type(uint32_t type) {
  return type <= KFD_IOC_QUEUE_TYPE_SDMA_XGMI;
}

bool ring_size_ok(uint32_t bytes) {
  return bytes == 0 || std::has_single_bit(bytes);
}

/// amd_signal_t* queue_inactive_signal in amd_queue_t, from the read index (HSA ABI).
constexpr uint64_t kReadIndexInQueue = 128;
constexpr uint64_t kInactiveSignalInQueue = 192;

}  // namespace

int VirtualKfd::check_queue_arguments(const kfd_ioctl_create_queue_args& args) const {
  if ((args.queue_percentage & kPercentageMask) > KFD_MAX_QUEUE_PERCENTAGE) return -EINVAL;
  if (args.queue_priority > KFD_MAX_QUEUE_PRIORITY) return -EINVAL;
  if (!access_ok(args.ring_base_address, sizeof(uint64_t))) return -EFAULT;
  if (!ring_size_ok(args.ring_size)) return -EINVAL;
  for (uint64_t address :
       {uint64_t{args.read_pointer_address}, uint64_t{args.write_pointer_address},
        uint64_t{args.eop_buffer_address}, uint64_t{args.ctx_save_restore_address}}) {
    if (!access_ok(address, sizeof(uint32_t))) return -EFAULT;
  }
  return is_known_type(args.queue_type) ? 0 : -kErrnoNotSupported;
}

/// A buffer of a queue must be a mapping of its own; of exactly this size if `exact_bytes` isn't 0.
int VirtualKfd::check_mapped(const ProcessDevice& device, uint64_t address,
                             uint64_t exact_bytes) const {
  const emu::Mapping* mapping = device.drm->vm().find(address);
  if (mapping == nullptr) return -EINVAL;
  if (exact_bytes == 0) return 0;
  const bool exact =
      mapping->va == address / kPageBytes * kPageBytes && mapping->size == page_align(exact_bytes);
  return exact ? 0 : -EINVAL;
}

int VirtualKfd::check_queue_buffers(const ProcessDevice& device,
                                    const kfd_ioctl_create_queue_args& args) const {
  const bool exact = version_.minor >= kExactBuffersSince;
  const bool sdma =
      args.queue_type == KFD_IOC_QUEUE_TYPE_SDMA || args.queue_type == KFD_IOC_QUEUE_TYPE_SDMA_XGMI;
  if (exact || device.gpu->profile().has_mes()) {
    if (const int failure = check_mapped(device, args.write_pointer_address, kPageBytes))
      return failure;
  }
  if (exact) {
    if (const int failure = check_mapped(device, args.read_pointer_address, kPageBytes))
      return failure;
    if (const int failure = check_mapped(device, args.ring_base_address, args.ring_size))
      return failure;
  }
  if (sdma) return 0;
  // Before 1.17 the kernel took sizes on trust and the hardware wrote past what was too small; that
  // much is refused at any version.
  const kfd::QueueBufferSizes sizes = device.gpu->profile().queue_buffers();
  if (args.eop_buffer_address != 0 && args.eop_buffer_size < sizes.eop_bytes) return -EINVAL;
  if (args.ctx_save_restore_address != 0 &&
      args.ctx_save_restore_size < sizes.context_save_restore_bytes)
    return -EINVAL;
  const bool stack_given = exact || args.ctl_stack_size != 0;
  if (stack_given && args.ctx_save_restore_address != 0 &&
      args.ctl_stack_size != sizes.control_stack_bytes)
    return -EINVAL;
  if (!exact) return 0;
  if (args.eop_buffer_address != 0) {
    if (args.eop_buffer_size != sizes.eop_bytes) return -EINVAL;
    if (const int failure = check_mapped(device, args.eop_buffer_address, args.eop_buffer_size))
      return failure;
  }
  return check_mapped(device, args.ctx_save_restore_address,
                      page_align(args.ctx_save_restore_size + sizes.debug_bytes));
}

int VirtualKfd::assign_doorbell(ProcessDevice& device, KfdQueue& queue) {
  if (queue.is_sdma()) {
    queue.doorbell = kFirstSdmaDoorbell + queue.sdma.engine * kSdmaDoorbellsPerEngine +
                     (queue.sdma.queue & 1) * kDoorbellMirror + (queue.sdma.queue >> 1);
    return 0;
  }
  for (uint32_t slot = 0; slot < kDoorbellsPerProcess; ++slot) {
    const uint32_t in_page = slot % kDoorbellMirror;
    const bool compute =
        in_page < kFirstSdmaDoorbell || in_page >= kFirstSdmaDoorbell + kNonComputeDoorbells;
    if (!compute || device.doorbells_in_use.test(slot)) continue;
    device.doorbells_in_use.set(slot);
    queue.doorbell = slot;
    return 0;
  }
  return -EBUSY;
}

/// Makes hardware follow the queue's properties: loaded, moved, or paused.
int VirtualKfd::load_queue(KfdQueue& queue) {
  progress_.hardware_changed();
  emu::Gpu& engine = machine_.gpus()[queue.gpu_index].engine();
  if (!queue.loaded) {
    if (!queue.should_run()) return 0;
    queue.hardware.ring_bytes = queue.ring_bytes;
    if (!engine.create_queue(queue.hardware, this)) return -EINVAL;
    queue.loaded = true;
    return 0;
  }
  const uint64_t bytes = queue.should_run() ? queue.ring_bytes : 0;
  return engine.update_queue(queue.hardware.id, queue.hardware.ring, bytes) ? 0 : -EINVAL;
}

void VirtualKfd::release_queue(KfdQueue& queue) {
  ProcessDevice& device = process_.devices[queue.gpu_index];
  if (queue.loaded) (void)device.gpu->engine().destroy_queue(queue.hardware.id);
  queue.loaded = false;
  if (queue.is_sdma())
    device.gpu->release_sdma(queue.sdma_pool(), queue.sdma.index);
  else
    device.doorbells_in_use.reset(queue.doorbell);
  if (queue.has_gws) --device.gws_queue_count;
  --device.queue_count;
}

int VirtualKfd::create_queue(kfd_ioctl_create_queue_args& args) {
  if (const int failure = check_queue_arguments(args)) return failure;
  int failure = 0;
  ProcessDevice* device = bound_device(args.gpu_id, -ESRCH, failure);
  if (device == nullptr) return failure;
  if ((failure = check_queue_buffers(*device, args))) return failure;
  if (device->queue_count >= kMaxQueuesPerDevice) return -ENOSPC;

  KfdQueue queue;
  queue.gpu_index = device->gpu->index();
  queue.type = args.queue_type;
  queue.percentage = args.queue_percentage & kPercentageMask;
  queue.ring_bytes = args.ring_size;
  if (queue.is_sdma() && (failure = device->gpu->acquire_sdma(queue.sdma_pool(), queue.sdma)))
    return failure;
  const bool aql = args.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
  queue.hardware = {.kind = queue.is_sdma() ? emu::QueueKind::Sdma
                            : aql           ? emu::QueueKind::Aql
                                            : emu::QueueKind::Pm4,
                    .vm = &device->drm->vm(),
                    .ring = args.ring_base_address,
                    .read_pointer = args.read_pointer_address,
                    .write_pointer = args.write_pointer_address,
                    .sdma_engine = queue.sdma.engine,
                    .priority = args.queue_priority};
  const auto id = process_.queues.emplace(0, kMaxQueuesPerProcess, std::move(queue));
  if (!id) {
    if (queue.is_sdma()) device->gpu->release_sdma(queue.sdma_pool(), queue.sdma.index);
    return -ENOMEM;
  }
  KfdQueue& placed = *process_.queues.find(*id);
  ++device->queue_count;
  if ((failure = assign_doorbell(*device, placed)) == 0) {
    auto* slot = reinterpret_cast<uint64_t*>(device->doorbells.data()) + placed.doorbell;
    *slot = 0;
    placed.hardware.doorbell = slot;
    placed.hardware.id = *id;
    failure = load_queue(placed);
  }
  if (failure != 0) {
    release_queue(placed);
    process_.queues.erase(*id);
    return failure;
  }
  args.queue_id = *id;
  args.doorbell_offset = kfd_mmap_offset(KfdMmapType::Doorbell, args.gpu_id) |
                         uint64_t{placed.doorbell} * kDoorbellBytes;
  return 0;
}

int VirtualKfd::destroy_queue(kfd_ioctl_destroy_queue_args& args) {
  KfdQueue* queue = process_.queues.find(args.queue_id);
  if (queue == nullptr) return -EINVAL;
  release_queue(*queue);
  process_.queues.erase(args.queue_id);
  progress_.notify();
  return 0;
}

int VirtualKfd::update_queue(kfd_ioctl_update_queue_args& args) {
  if ((args.queue_percentage & kPercentageMask) > KFD_MAX_QUEUE_PERCENTAGE) return -EINVAL;
  if (args.queue_priority > KFD_MAX_QUEUE_PRIORITY) return -EINVAL;
  if (!access_ok(args.ring_base_address, sizeof(uint64_t))) return -EFAULT;
  if (!ring_size_ok(args.ring_size)) return -EINVAL;
  KfdQueue* queue = process_.queues.find(args.queue_id);
  if (queue == nullptr) return -EFAULT;
  queue->hardware.ring = args.ring_base_address;
  queue->ring_bytes = args.ring_size;
  queue->percentage = args.queue_percentage & kPercentageMask;
  queue->hardware.priority = args.queue_priority;
  return load_queue(*queue);
}

int VirtualKfd::set_cu_mask(kfd_ioctl_set_cu_mask_args& args) {
  if (args.num_cu_mask % 32 != 0 || args.num_cu_mask == 0) return -EINVAL;
  std::vector<uint32_t> mask(std::min(args.num_cu_mask, kMaxCuMaskBits) / 32);
  if (!copy_from_user(mask.data(), args.cu_mask_ptr, mask.size() * sizeof mask[0])) return -EFAULT;
  KfdQueue* queue = process_.queues.find(args.queue_id);
  if (queue == nullptr) return -EFAULT;
  if (machine_.gpus()[queue->gpu_index].profile().gc.major >= 10) {
    // CUs of a workgroup processor come and go together.
    for (uint32_t word : mask)
      if ((word & 0x55555555) != ((word >> 1) & 0x55555555)) return -EINVAL;
  }
  queue->cu_mask = std::move(mask);
  return 0;
}

// Waves of an inactive queue would be in the context save area; the emulator's queues stop between
// packets, so that there never are any.
int VirtualKfd::get_queue_wave_state(kfd_ioctl_get_queue_wave_state_args& args) {
  KfdQueue* queue = process_.queues.find(args.queue_id);
  if (queue == nullptr) return -EFAULT;
  if (queue->is_sdma() || queue->should_run()) return -EINVAL;
  args.ctl_stack_used_size = 0;
  args.save_area_used_size = 0;
  return 0;
}

int VirtualKfd::alloc_queue_gws(kfd_ioctl_alloc_queue_gws_args& args) {
  KfdQueue* queue = process_.queues.find(args.queue_id);
  if (queue == nullptr) return -EINVAL;
  ProcessDevice& device = process_.devices[queue->gpu_index];
  if (device.gpu->profile().num_gws == 0) return -ENODEV;
  const bool wanted = args.num_gws != 0;
  args.first_gws = 0;
  if (wanted && device.gws_queue_count != 0) return -EBUSY;
  if (!wanted && device.gws_queue_count == 0) return -EINVAL;
  if (queue->has_gws != wanted) {
    queue->has_gws = wanted;
    device.gws_queue_count = wanted ? 1 : 0;
  }
  return 0;
}

/// An AQL queue with a queue_inactive_signal learns of its errors there.
bool VirtualKfd::reports_errors_itself(const KfdQueue& queue) const {
  if (queue.hardware.kind != emu::QueueKind::Aql) return false;
  uint64_t signal = 0;
  const uint64_t field = queue.hardware.read_pointer - kReadIndexInQueue + kInactiveSignalInQueue;
  auto bytes = std::as_writable_bytes(std::span(&signal, 1));
  return queue.hardware.vm->read(field, bytes).has_value() && signal != 0;
}

}  // namespace doppel::mock
