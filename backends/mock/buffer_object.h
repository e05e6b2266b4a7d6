// BufferObject: memory that GPUs can map, wherever it comes from: an extent of a render node's file
// (VRAM, GTT), pages of the client (USERPTR), or pages of the device (doorbells, MMIO). Shared by
// the handles that name it; charged to its pool while it lives.
//
// DrmFile: one open of a render node: its own file to map, its own GPU address space, its own GEM
// handles. The KFD makes one of them per GPU the process's address space (ACQUIRE_VM).
//
// Both belong to the driver's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/mock/id_table.h"
#include "backends/mock/machine.h"
#include "backends/mock/memfd_backing.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::mock {

class DrmFile;

/// Linux drm_vma_manager: fake offsets begin where 32 bits end.
inline constexpr uint64_t kDrmFileBegin = uint64_t{1} << 32;
inline constexpr uint64_t kDrmFileWindow = uint64_t{1} << 40;
inline constexpr uint64_t kPageBytes = 4096;

constexpr uint64_t page_align(uint64_t bytes) {
  return (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
}

class BufferObject {
 public:
  /// Zeroed memory of `file`, charged to `pool`. Returns 0 or -errno.
  static int create(Machine& machine, DrmFile& file, emu::MemoryKind kind, MemoryPool pool,
                    uint64_t size, std::shared_ptr<BufferObject>& object);
  /// Memory that exists already at `host`; there is nothing to mmap from the render node.
  static int wrap(Machine& machine, VirtualGpu& gpu, emu::MemoryKind kind, MemoryPool pool,
                  uint64_t size, std::byte* host, std::shared_ptr<BufferObject>& object);
  ~BufferObject();
  BufferObject(const BufferObject&) = delete;
  BufferObject& operator=(const BufferObject&) = delete;

  VirtualGpu& gpu() const { return *gpu_; }
  emu::MemoryKind kind() const { return kind_; }
  uint64_t size() const { return size_; }
  std::byte* host() const { return host_; }
  /// Offset of the first byte in the render node's file; 0 if it can't be mapped from there.
  uint64_t file_offset() const { return file_offset_; }
  bool is_user_memory() const { return kind_ == emu::MemoryKind::UserPtr; }

 private:
  BufferObject(Machine& machine, VirtualGpu& gpu, emu::MemoryKind kind, MemoryPool pool,
               uint64_t size);

  Machine* machine_;
  VirtualGpu* gpu_;
  emu::MemoryKind kind_;
  MemoryPool pool_;
  uint64_t size_;
  std::byte* host_ = nullptr;
  std::shared_ptr<MemfdBacking> backing_;  // of file_offset_, if any
  uint64_t file_offset_ = 0;
};

/// A GEM handle: the object and where GEM_VA has mapped it in the file's address space.
struct GemObject {
  std::shared_ptr<BufferObject> object;
  uint64_t domains = 0;  // AMDGPU_GEM_DOMAIN_*
  uint64_t flags = 0;    // AMDGPU_GEM_CREATE_*
  uint64_t tiling = 0;   // GEM_METADATA
  std::vector<uint32_t> metadata;
  std::vector<uint64_t> mappings;  // GPU addresses
};

class DrmFile {
 public:
  static Result<std::shared_ptr<DrmFile>> open(VirtualGpu& gpu);
  DrmFile(VirtualGpu& gpu, MemfdBacking backing);

  VirtualGpu& gpu() { return *gpu_; }
  MemfdBacking& backing() { return *backing_; }
  std::shared_ptr<MemfdBacking> shared_backing() { return backing_; }
  emu::GpuVm& vm() { return vm_; }

  bool is_compute_vm() const { return is_compute_vm_; }
  void make_compute_vm() { is_compute_vm_ = true; }

  IdTable<GemObject> gem_objects;

 private:
  VirtualGpu* gpu_;
  std::shared_ptr<MemfdBacking> backing_;
  emu::GpuVm vm_;
  bool is_compute_vm_ = false;
};

}  // namespace doppel::mock
