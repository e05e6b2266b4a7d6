// VirtualKfd: the amdkfd driver: /dev/kfd's ioctls over a Machine. Answers as Linux does, errors
// included; kfd_ioctls.inc has one row per ioctl, each with its handler here.
//
// Sources: Linux drivers/gpu/drm/amd/amdkfd (kfd_chardev.c, kfd_queue.c, kfd_events.c,
// kfd_process_queue_manager.c) and amdgpu_amdkfd_gpuvm.c; ENOTTY for unknown numbers as since 6.18.
//
// Every function expects the driver's lock (Progress::lock) to be held.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>

#include "backends/kfd/kfd_abi.h"
#include "backends/mock/kfd_process.h"
#include "backends/mock/machine.h"
#include "backends/mock/progress.h"
#include "emulator/gpu.h"

namespace doppel::mock {

/// Version that GET_VERSION reports. From 1.17 on, queue buffers must fit exactly.
struct KfdVersion {
  uint32_t major = 1;
  uint32_t minor = 14;
};

/// Offsets for mmap of /dev/kfd (Linux kfd_priv.h: KFD_MMAP_TYPE_*, GPU id above bit 46). The type
/// sits at bit 60, not 62: the file is a real one, and no file may reach 2^63 bytes.
enum class KfdMmapType : uint64_t { Mmio = 1, Events = 2, Doorbell = 3 };
inline constexpr int kKfdMmapTypeShift = 60;
inline constexpr int kKfdMmapGpuShift = 46 - 2;
inline constexpr uint64_t kKfdFileBytes = uint64_t{1} << 62;

constexpr uint64_t kfd_mmap_offset(KfdMmapType type, uint32_t gpu_id = 0) {
  return static_cast<uint64_t>(type) << kKfdMmapTypeShift | uint64_t{gpu_id} << kKfdMmapGpuShift;
}

/// Looks up the render node behind a client's descriptor: ACQUIRE_VM needs it.
class RenderNodes {
 public:
  virtual ~RenderNodes() = default;
  /// nullptr if `fd` is no open render node.
  virtual std::shared_ptr<DrmFile> find(int fd) = 0;
  /// A dma-buf descriptor for the object, or -errno.
  virtual int export_dmabuf(std::shared_ptr<BufferObject> object, uint32_t flags) = 0;
  /// The object behind a dma-buf descriptor, or nullptr.
  virtual std::shared_ptr<BufferObject> find_dmabuf(int fd) = 0;
};

class VirtualKfd final : public emu::InterruptSink {
 public:
  VirtualKfd(Machine& machine, Progress& progress, RenderNodes& render_nodes, int kfd_fd,
             KfdVersion version);
  ~VirtualKfd() override;

  /// Doorbell and MMIO pages of each GPU. System if the machine refuses them.
  Result<> start();

  /// One ioctl of the client; `argument` is the client's pointer.
  int ioctl(unsigned long request, uint64_t argument);
  /// Whether a mapping of /dev/kfd makes sense: 0 or -errno.
  int check_mmap(uint64_t offset, uint64_t length) const;
  /// The client's memory [address, address + length) goes away: GPUs must not reach it any more
  /// (the MMU notifier).
  void invalidate_user_memory(uint64_t address, uint64_t length);
  /// Whether GPUs may use the client's page at `address`. Only reads: a signal handler on a thread
  /// that steps the simulator may ask.
  bool uses_user_memory(uint64_t address) const;
  /// A GPU has met client memory that is not there any more: takes it from the GPUs and raises the
  /// memory exception.
  void on_user_memory_lost(uint64_t address);

  void on_interrupt(uint32_t queue, uint32_t context_id) override;
  void on_fault(const emu::Fault& fault) override;

  const KfdProcess& process() const { return process_; }
  /// What guests did wrong, oldest first (the last kMaxFaults of them).
  const std::deque<emu::Fault>& faults() const { return faults_; }
  static constexpr size_t kMaxFaults = 64;
  uint64_t fault_count() const { return fault_count_; }

  /// The symbolic name of an ioctl number, or "" if it is none.
  static std::string_view ioctl_name(uint32_t number);

 private:
  struct Row;
  static const Row* find_row(uint32_t number);

#define KFD_IOCTL(number, name, arguments, direction, handler) int handler(arguments& args);
#include "backends/mock/kfd_ioctls.inc"
#undef KFD_IOCTL

  // Memory.
  int allocate_object(ProcessDevice& device, const kfd_ioctl_alloc_memory_of_gpu_args& args,
                      std::shared_ptr<BufferObject>& object);
  int pin_user_memory(ProcessDevice& device, const kfd_ioctl_alloc_memory_of_gpu_args& args,
                      std::shared_ptr<BufferObject>& object);
  int map_on(KfdAllocation& allocation, uint64_t handle, ProcessDevice& device);
  int unmap_from(KfdAllocation& allocation, ProcessDevice& device);
  template <class Args>
  int for_each_peer(Args& args, int (VirtualKfd::*action)(KfdAllocation&, uint64_t, ProcessDevice&),
                    bool needs_vm);
  int unmap_peer(KfdAllocation& allocation, uint64_t handle, ProcessDevice& device);

  // Queues.
  int check_queue_arguments(const kfd_ioctl_create_queue_args& args) const;
  int check_queue_buffers(const ProcessDevice& device,
                          const kfd_ioctl_create_queue_args& args) const;
  int check_mapped(const ProcessDevice& device, uint64_t address, uint64_t exact_bytes) const;
  int assign_doorbell(ProcessDevice& device, KfdQueue& queue);
  int load_queue(KfdQueue& queue);
  void release_queue(KfdQueue& queue);
  bool reports_errors_itself(const KfdQueue& queue) const;

  // Events.
  int take_event_page(uint64_t handle);
  int wait_for(EventTable::Wait& wait, uint32_t timeout_ms, uint32_t& result);

  /// A reader of SMI_EVENTS.
  struct SmiClient {
    uint32_t gpu_index = 0;
    UniqueFd driver_end;
    uint64_t mask = 0;  // KFD_SMI_EVENT_MASK_FROM_INDEX
  };
  void report_smi_vm_fault(uint32_t gpu_index);

  void fill_aperture(kfd_process_device_apertures& aperture, const ProcessDevice& device) const;
  /// The device if the client has acquired its VM, else nullptr and the driver's error.
  ProcessDevice* bound_device(uint32_t gpu_id, int unbound_error, int& failure);

  Machine& machine_;
  Progress& progress_;
  RenderNodes& render_nodes_;
  int kfd_fd_;
  KfdVersion version_;
  int owner_;  // process id
  KfdProcess process_;
  std::deque<emu::Fault> faults_;
  uint64_t fault_count_ = 0;
  std::vector<SmiClient> smi_clients_;
};

}  // namespace doppel::mock
