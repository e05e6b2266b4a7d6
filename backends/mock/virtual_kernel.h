// VirtualKernel: the emulated machine behind the KernelAbi seam: /dev/kfd, the render nodes, sysfs
// and emulated GPUs, in this process. By default whoever waits steps the simulator, on virtual
// time, so that a run depends on its seed alone; the preload shim passes another Progress.
//
// Device descriptors are real ones (memory files): dup, fcntl and close work on them, and any mmap
// maps what the driver promised at the offsets it returned. They are recognised by inode.
//
// Owns everything of the emulated machine; its life is the client process's life as the driver sees
// it. Safe to call from several threads: one lock, released while a call waits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/kfd/kernel_abi.h"
#include "backends/mock/device_profile.h"
#include "backends/mock/locked_host_observer.h"
#include "backends/mock/machine.h"
#include "backends/mock/progress.h"
#include "backends/mock/sysfs_tree.h"
#include "backends/mock/virtual_drm.h"
#include "backends/mock/virtual_kfd.h"
#include "core/verify/verify.h"

namespace doppel::mock {

/// What a client still holds; all zero after it has given everything back.
struct Usage {
  size_t allocations = 0;
  size_t mapped_allocations = 0;
  size_t queues = 0;
  size_t events = 0;
  size_t gem_objects = 0;
  uint64_t vram_bytes = 0;  // over all GPUs
  uint64_t gtt_bytes = 0;
  uint64_t system_bytes = 0;  // GTT and pinned user memory
  bool operator==(const Usage&) const = default;
};

/// A device node of the machine.
struct DeviceNode {
  enum class Kind : uint8_t { None, Kfd, Render };
  Kind kind = Kind::None;
  uint32_t minor = 0;  // of a render node
};

class VirtualKernel final : public kfd::KernelAbi, private RenderNodes {
 public:
  using MakeProgress = std::function<std::unique_ptr<Progress>(emu::Simulator&)>;

  /// System if the machine below refuses descriptors or address space; InvalidArgument for
  /// suppressions that don't parse.
  static Result<std::unique_ptr<VirtualKernel>> create(MachineProfile profile,
                                                       const MakeProgress& make_progress = {},
                                                       const Verify& verify = {});
  ~VirtualKernel() override;

  int open(const char* path, int flags) override;
  int close(int fd) override;
  int ioctl(int fd, unsigned long request, void* argument) override;
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override;
  int munmap(void* address, size_t length) override;
  Result<std::string> read_file(const std::string& path) override;
  Result<std::vector<std::string>> list_dir(const std::string& path) override;
  Result<kfd::RenderNodeInfo> render_node_info(int fd) override;
  kfd::Relax relax() override;
  bool host_goes_on() override;
  bool others_may_act() override;
  std::string stall_report() override;
  std::string fault_report() override;
  /// The checkers, or nullptr. Used like machine().
  verify::Verifier* verifier() { return verifier_.get(); }
  verify::HostObserver* host_observer() override { return host_observer_.get(); }
  std::optional<verify::FindingLog> findings() override;
  uint64_t now_ns() const override;

  /// The file behind /dev/kfd. All the machine's descriptors share its device number.
  raw::FileIdentity kfd_identity() const { return kfd_file_.identity(); }
  /// Which device node a descriptor is, or None.
  DeviceNode node_of(int fd);

  Usage usage();
  /// Faults of guests so far, oldest first.
  std::vector<emu::Fault> faults();
  const SysfsTree& sysfs() const { return sysfs_; }
  /// The hardware itself, for tests and observers. Callers see to it that nobody else steps it.
  Machine& machine() { return machine_; }
  const VirtualKfd& kfd() const { return kfd_; }
  VirtualKfd& kfd() { return kfd_; }
  Progress& progress() { return *progress_; }

 private:
  VirtualKernel(MachineProfile profile, const MakeProgress& make_progress, MemfdBacking kfd_file);

  std::shared_ptr<DrmFile> find(int fd) override;
  int export_dmabuf(std::shared_ptr<BufferObject> object, uint32_t flags) override;
  std::shared_ptr<BufferObject> find_dmabuf(int fd) override;

  /// The token behind a dma-buf descriptor keeps the object, and its inode ours.
  struct Dmabuf {
    MemfdBacking token;
    std::shared_ptr<BufferObject> object;
  };

  int open_render_node(uint32_t index, bool close_on_exec);
  int check_mmap(int fd, uint64_t offset, size_t length);

  Machine machine_;
  // Watch until all memory is unmapped; nullptr without verification.
  std::unique_ptr<verify::Verifier> verifier_;
  std::unique_ptr<LockedHostObserver> host_observer_;
  SysfsTree sysfs_;
  std::unique_ptr<Progress> progress_;
  MemfdBacking kfd_file_;
  std::map<raw::FileIdentity, std::shared_ptr<DrmFile>> drm_files_;
  std::map<raw::FileIdentity, Dmabuf> dmabufs_;
  VirtualKfd kfd_;
  VirtualDrm drm_;
};

}  // namespace doppel::mock
