// VirtualKfd: memory: allocate, map, unmap, free, share. Linux amdgpu_amdkfd_gpuvm.c.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "backends/mock/user_memory.h"
#include "backends/mock/virtual_kfd.h"

namespace doppel::mock {
namespace {

using emu::MemoryKind;

uint8_t permissions_of(uint32_t flags) {
  uint8_t bits = static_cast<uint8_t>(emu::Access::Read);
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE) bits |= static_cast<uint8_t>(emu::Access::Write);
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
    bits |= static_cast<uint8_t>(emu::Access::Execute);
  return bits;
}

bool is_host_visible(uint32_t flags) {
  return (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) == 0 ||
         (flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC) != 0;
}

bool is_coherent(uint32_t flags) {
  return (flags & (KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED)) != 0;
}

/// How `gpu` sees the object.
MemoryKind kind_for(const BufferObject& object, const VirtualGpu& gpu) {
  const bool remote = object.kind() == MemoryKind::Vram && &object.gpu() != &gpu;
  return remote ? MemoryKind::PeerVram : object.kind();
}

/// Removes what `map` has put at [va, va + count * bytes).
void unmap_range(emu::GpuVm& vm, uint64_t va, uint64_t bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) (void)vm.unmap(va + i * bytes);
}

}  // namespace

int VirtualKfd::available_memory(kfd_ioctl_get_available_memory_args& args) {
  ProcessDevice* device = process_.find_device(args.gpu_id);
  if (device == nullptr) return -EINVAL;
  args.available = machine_.available_vram(*device->gpu);
  return 0;
}

int VirtualKfd::pin_user_memory(ProcessDevice& device,
                                const kfd_ioctl_alloc_memory_of_gpu_args& args,
                                std::shared_ptr<BufferObject>& object) {
  const uint64_t address = args.mmap_offset;
  if (address % kPageBytes != 0 || address == 0) return -EINVAL;
  const uint64_t size = page_align(args.size);
  if (const int failure =
          BufferObject::wrap(machine_, *device.gpu, MemoryKind::UserPtr, MemoryPool::System, size,
                             reinterpret_cast<std::byte*>(address), object))
    return failure;
  return pin_user_pages(address, size);
}

int VirtualKfd::allocate_object(ProcessDevice& device,
                                const kfd_ioctl_alloc_memory_of_gpu_args& args,
                                std::shared_ptr<BufferObject>& object) {
  const uint32_t flags = args.flags;
  // The queue memory that appears twice is half of what the client asks for.
  const uint64_t size = flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM ? args.size / 2 : args.size;
  if (size > kDrmFileWindow) return -ENOMEM;
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
    return BufferObject::create(machine_, *device.drm, MemoryKind::Vram, MemoryPool::Vram, size,
                                object);
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT)
    return BufferObject::create(machine_, *device.drm, MemoryKind::Gtt, MemoryPool::Gtt, size,
                                object);
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) return pin_user_memory(device, args, object);
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
    if (args.size != kfd::abi::kDoorbellSliceBytes) return -EINVAL;
    return BufferObject::wrap(machine_, *device.gpu, MemoryKind::Doorbell, MemoryPool::None, size,
                              device.doorbells.data(), object);
  }
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
    if (args.size != kPageBytes) return -EINVAL;
    return BufferObject::wrap(machine_, *device.gpu, MemoryKind::Mmio, MemoryPool::None, size,
                              device.mmio.data(), object);
  }
  return -EINVAL;
}

int VirtualKfd::alloc_memory_of_gpu(kfd_ioctl_alloc_memory_of_gpu_args& args) {
  if (args.size == 0) return -EINVAL;
  ProcessDevice* device = process_.find_device(args.gpu_id);
  if (device == nullptr) return -EINVAL;
  constexpr uint32_t kVisibleVram = KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
  if ((args.flags & kVisibleVram) == kVisibleVram && !device->gpu->profile().large_bar)
    return -EINVAL;
  if (device->drm == nullptr) return -ENODEV;

  KfdAllocation allocation;
  if (const int failure = allocate_object(*device, args, allocation.object)) return failure;
  allocation.va = args.va_addr;
  allocation.flags = args.flags;
  if (allocation.object->is_user_memory()) allocation.user_address = args.mmap_offset;
  // Where to mmap it: the render node's file, or this one's for the MMIO page. User memory is the
  // client's already.
  if (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)
    args.mmap_offset = kfd_mmap_offset(KfdMmapType::Mmio, args.gpu_id);
  else if (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL)
    args.mmap_offset = kfd_mmap_offset(KfdMmapType::Doorbell, args.gpu_id);
  else if (!allocation.object->is_user_memory())
    args.mmap_offset = allocation.object->file_offset();
  const auto id = device->allocations.emplace(1, INT32_MAX, std::move(allocation));
  if (!id) return -EFAULT;
  args.handle = make_handle(args.gpu_id, *id);
  return 0;
}

int VirtualKfd::free_memory_of_gpu(kfd_ioctl_free_memory_of_gpu_args& args) {
  if (process_.event_page_handle != 0 && process_.event_page_handle == args.handle) return -EPERM;
  KfdAllocation* allocation = process_.find_allocation(args.handle);
  if (allocation == nullptr) return -EINVAL;
  if (!allocation->mapped.empty()) return -EBUSY;
  process_.find_device(handle_gpu_id(args.handle))->allocations.erase(handle_id(args.handle));
  return 0;
}

int VirtualKfd::map_on(KfdAllocation& allocation, uint64_t handle, ProcessDevice& device) {
  const BufferObject& object = *allocation.object;
  const uint32_t index = device.gpu->index();
  if (allocation.mapped.contains(index)) return 0;
  const uint64_t va = allocation.va;
  if (va == 0 || va % kPageBytes != 0 || !access_ok(va, allocation.va_bytes())) return -EINVAL;
  const MemoryKind kind = kind_for(object, *device.gpu);
  // A peer reaches VRAM only through its BAR.
  if (kind == MemoryKind::PeerVram && !object.gpu().profile().large_bar) return -EINVAL;
  emu::GpuVm& vm = device.drm->vm();
  const uint32_t copies = allocation.appears_twice() ? 2 : 1;
  for (uint32_t i = 0; i < copies; ++i) {
    auto mapped = vm.map({.va = va + i * object.size(),
                          .size = object.size(),
                          .host = object.host(),
                          .permissions = permissions_of(allocation.flags),
                          .kind = kind,
                          .coherent = is_coherent(allocation.flags),
                          .allocation = handle,
                          .host_visible = is_host_visible(allocation.flags)});
    if (mapped) continue;
    unmap_range(vm, va, object.size(), i);
    return -EINVAL;
  }
  allocation.mapped.insert(index);
  return 0;
}

int VirtualKfd::unmap_from(KfdAllocation& allocation, ProcessDevice& device) {
  if (allocation.mapped.erase(device.gpu->index()) == 0) return -EINVAL;
  unmap_range(device.drm->vm(), allocation.va, allocation.object->size(),
              allocation.appears_twice() ? 2 : 1);
  return 0;
}

int VirtualKfd::unmap_peer(KfdAllocation& allocation, uint64_t, ProcessDevice& device) {
  return unmap_from(allocation, device);
}

// Both directions: from where an earlier call stopped (n_success) through the list of GPUs.
template <class Args>
int VirtualKfd::for_each_peer(Args& args,
                              int (VirtualKfd::*action)(KfdAllocation&, uint64_t, ProcessDevice&),
                              bool needs_vm) {
  constexpr uint32_t kMostDevices = 1 << 16;  // what kmalloc would still give
  if (args.n_devices == 0 || args.n_success > args.n_devices) return -EINVAL;
  if (args.n_devices > kMostDevices) return -ENOMEM;
  std::vector<uint32_t> ids(args.n_devices);
  if (!copy_from_user(ids.data(), args.device_ids_array_ptr, ids.size() * sizeof ids[0]))
    return -EFAULT;
  ProcessDevice* owner = process_.find_device(handle_gpu_id(args.handle));
  if (owner == nullptr) return -EINVAL;
  if (needs_vm && owner->drm == nullptr) return -ENODEV;
  KfdAllocation* allocation = owner->allocations.find(handle_id(args.handle));
  if (allocation == nullptr) return -ENOMEM;
  for (uint32_t i = args.n_success; i < args.n_devices; ++i) {
    ProcessDevice* peer = process_.find_device(ids[i]);
    if (peer == nullptr) return -EINVAL;
    if (needs_vm && peer->drm == nullptr) return -ENODEV;
    if (const int failure = (this->*action)(*allocation, args.handle, *peer)) return failure;
    args.n_success = i + 1;
  }
  return 0;
}

int VirtualKfd::map_memory_to_gpu(kfd_ioctl_map_memory_to_gpu_args& args) {
  return for_each_peer(args, &VirtualKfd::map_on, true);
}

int VirtualKfd::unmap_memory_from_gpu(kfd_ioctl_unmap_memory_from_gpu_args& args) {
  return for_each_peer(args, &VirtualKfd::unmap_peer, false);
}

void VirtualKfd::invalidate_user_memory(uint64_t address, uint64_t length) {
  for (ProcessDevice& owner : process_.devices) {
    for (auto& [id, allocation] : owner.allocations) {
      if (allocation.user_address == 0 || allocation.user_address >= address + length ||
          address >= allocation.user_address + allocation.object->size())
        continue;
      const std::set<uint32_t> mapped = allocation.mapped;
      for (uint32_t index : mapped)
        unmap_range(process_.devices[index].drm->vm(), allocation.va, allocation.object->size(), 1);
    }
  }
}

bool VirtualKfd::uses_user_memory(uint64_t address) const {
  for (const ProcessDevice& owner : process_.devices) {
    for (const auto& [id, allocation] : owner.allocations) {
      if (allocation.user_address != 0 && !allocation.mapped.empty() &&
          address - allocation.user_address < allocation.object->size())
        return true;
    }
  }
  return false;
}

void VirtualKfd::on_user_memory_lost(uint64_t address) {
  for (ProcessDevice& owner : process_.devices) {
    for (auto& [id, allocation] : owner.allocations) {
      const uint64_t offset = address - allocation.user_address;
      if (allocation.user_address == 0 || offset >= allocation.object->size()) continue;
      for (uint32_t index : allocation.mapped) {
        kfd_hsa_memory_exception_data data{};
        data.failure.NotPresent = 1;
        data.va = (allocation.va + offset) / kPageBytes * kPageBytes;
        data.gpu_id = machine_.gpus()[index].gpu_id();
        process_.events.raise_memory_exception(data);
      }
    }
  }
  invalidate_user_memory(address / kPageBytes * kPageBytes, kPageBytes);
  progress_.notify();
}

int VirtualKfd::export_dmabuf(kfd::abi::ExportDmabufArgs& args) {
  KfdAllocation* allocation = process_.find_allocation(args.handle);
  if (allocation == nullptr) return -EINVAL;
  const MemoryKind kind = allocation->object->kind();
  if (kind != MemoryKind::Vram && kind != MemoryKind::Gtt) return -EINVAL;
  const int fd = render_nodes_.export_dmabuf(allocation->object, args.flags);
  if (fd < 0) return fd;
  args.dmabuf_fd = static_cast<uint32_t>(fd);
  return 0;
}

int VirtualKfd::get_dmabuf_info(kfd_ioctl_get_dmabuf_info_args& args) {
  std::shared_ptr<BufferObject> object =
      render_nodes_.find_dmabuf(static_cast<int>(args.dmabuf_fd));
  if (object == nullptr) return -EINVAL;
  args.size = object->size();
  args.metadata_size = 0;
  args.gpu_id = object->gpu().gpu_id();
  args.flags = object->kind() == MemoryKind::Vram
                   ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM |
                         (object->gpu().profile().large_bar ? KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC : 0)
                   : KFD_IOC_ALLOC_MEM_FLAGS_GTT;
  return 0;
}

int VirtualKfd::import_dmabuf(kfd_ioctl_import_dmabuf_args& args) {
  int failure = 0;
  ProcessDevice* device = bound_device(args.gpu_id, -ENODEV, failure);
  if (device == nullptr) return failure;
  KfdAllocation allocation;
  allocation.object = render_nodes_.find_dmabuf(static_cast<int>(args.dmabuf_fd));
  if (allocation.object == nullptr) return -EINVAL;
  allocation.va = args.va_addr;
  allocation.flags = KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
                     (allocation.object->kind() == MemoryKind::Vram ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM
                                                                    : KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  const auto id = device->allocations.emplace(1, INT32_MAX, std::move(allocation));
  if (!id) return -EFAULT;
  args.handle = make_handle(args.gpu_id, *id);
  return 0;
}

}  // namespace doppel::mock
