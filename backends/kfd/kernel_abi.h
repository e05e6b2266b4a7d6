// KernelAbi: the one seam between the runtime and whatever plays the driver. Three bindings:
// LinuxKernel (system calls and libdrm), mock::VirtualKernel (in process, deterministic), and the
// decorator RecordingKernel. Nothing above this interface knows which one it talks to.
//
// Conventions are the kernel's own: a call returns a value >= 0, or -errno. Descriptors, offsets
// and structures are those of linux/kfd_ioctl.h and amdgpu_drm.h. Implementations are safe to call
// from several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "core/verify/finding.h"
#include "core/verify/host_observer.h"

namespace doppel::kfd {

/// What libdrm and libdrm_amdgpu say of an open render node.
struct RenderNodeInfo {
  std::string driver_name;  // "amdgpu"
  int driver_major = 0;
  int driver_minor = 0;
  int driver_patch = 0;
  std::string marketing_name;  // "AMD Radeon RX 7900 XTX"; empty if libdrm knows none
  uint32_t device_id = 0;      // PCI
  uint32_t pci_revision = 0;
  uint32_t external_revision = 0;
  uint64_t vram_bytes = 0;
  uint64_t visible_vram_bytes = 0;
};

/// New packets in a queue's ring.
struct QueueAdvance {
  uint32_t queue = 0;                     // the driver's id
  uint64_t* write_pointer = nullptr;      // the queue's, in memory
  uint64_t to = 0;                        // its new value, in the unit of the queue's kind
  volatile uint64_t* doorbell = nullptr;  // mapped from the driver
  uint64_t doorbell_value = 0;
};

/// The outcome of KernelAbi::relax().
enum class Relax : uint8_t {
  Again,    // something may have changed: look again
  Stalled,  // nothing can change any more unless the host acts: the device is deadlocked or idle
};

class KernelAbi : public Clock {
 public:
  ~KernelAbi() override = default;

  /// open(2). Paths are the kernel's: /dev/kfd, /dev/dri/renderD128.
  virtual int open(const char* path, int flags) = 0;
  virtual int close(int fd) = 0;

  /// ioctl(2), EINTR included: restarting is the caller's affair.
  virtual int ioctl(int fd, unsigned long request, void* argument) = 0;

  /// mmap(2): the mapping's address, or nullptr with `*os_error` set. fd -1 maps anonymous memory.
  virtual void* mmap(void* address, size_t length, int protection, int flags, int fd,
                     uint64_t offset, int* os_error) = 0;
  virtual int munmap(void* address, size_t length) = 0;

  /// A whole (sysfs) file, or the names in a directory ("." and ".." left out, sorted).
  virtual Result<std::string> read_file(const std::string& path) = 0;
  virtual Result<std::vector<std::string>> list_dir(const std::string& path) = 0;

  /// What the render node's own library says of it. `fd` comes from open("/dev/dri/renderD*").
  virtual Result<RenderNodeInfo> render_node_info(int fd) = 0;

  /// Tells a queue of new packets. Two stores: everything stored before is visible to the queue
  /// when it sees the first one.
  virtual void advance_queue(const QueueAdvance& advance) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::atomic_ref(*advance.write_pointer).store(advance.to, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    *advance.doorbell = advance.doorbell_value;
  }

  /// Called in each turn of a loop that waits for the device: yields on a real machine, lets the
  /// simulator step on the virtual one.
  virtual Relax relax() = 0;

  /// What the caller has waited for has come. True: it goes on; false, on a virtual machine whose
  /// schedule has a slow host: others have gone on first, and it has to look again.
  virtual bool host_goes_on() { return true; }

  /// After Relax::Stalled: whether another thread of the program may set the device going again.
  virtual bool others_may_act() { return false; }

  /// After Relax::Stalled: who waits for what, one line per link. Empty if the binding can't tell.
  virtual std::string stall_report() = 0;

  /// After an exception event: what the driver knows of the faults so far beyond the event's few
  /// fields (queue, packet, instruction), oldest first. Empty if the binding can't tell.
  virtual std::string fault_report() { return {}; }

  /// Who wants to know what the host does; lives as long as the binding. nullptr: nobody.
  virtual verify::HostObserver* host_observer() { return nullptr; }
  /// What the binding's checks have found; nullopt if it has none.
  virtual std::optional<verify::FindingLog> findings() { return std::nullopt; }
};

}  // namespace doppel::kfd
