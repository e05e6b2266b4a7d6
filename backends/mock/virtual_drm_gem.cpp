// VirtualDrm: buffer objects. Linux amdgpu_gem.c, drm_prime.c.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/mock/user_memory.h"
#include "backends/mock/virtual_drm.h"
#include "backends/mock/virtual_kfd.h"

namespace doppel::mock {
namespace {

constexpr uint32_t kMaxGemHandles = 1 << 20;
constexpr uint32_t kVaFlags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE |
                              AMDGPU_VM_PAGE_EXECUTABLE | AMDGPU_VM_MTYPE_MASK;
constexpr uint32_t kUserptrFlags = AMDGPU_GEM_USERPTR_READONLY | AMDGPU_GEM_USERPTR_ANONONLY |
                                   AMDGPU_GEM_USERPTR_VALIDATE | AMDGPU_GEM_USERPTR_REGISTER;
constexpr size_t kMetadataBytes = sizeof(drm_amdgpu_gem_metadata{}.data.data);

uint8_t page_permissions(uint32_t flags) {
  uint8_t bits = 0;
  if (flags & AMDGPU_VM_PAGE_READABLE) bits |= static_cast<uint8_t>(emu::Access::Read);
  if (flags & AMDGPU_VM_PAGE_WRITEABLE) bits |= static_cast<uint8_t>(emu::Access::Write);
  if (flags & AMDGPU_VM_PAGE_EXECUTABLE) bits |= static_cast<uint8_t>(emu::Access::Execute);
  return bits;
}

}  // namespace

int VirtualDrm::add_gem(DrmFile& file, GemObject gem, uint32_t& handle) {
  const auto id = file.gem_objects.emplace(1, kMaxGemHandles, std::move(gem));
  if (!id) return -ENOMEM;
  handle = *id;
  return 0;
}

int VirtualDrm::gem_create(DrmFile& file, union drm_amdgpu_gem_create& args) {
  const drm_amdgpu_gem_create_in in = args.in;
  const bool vram = (in.domains & AMDGPU_GEM_DOMAIN_VRAM) != 0;
  const uint64_t memory = AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_CPU;
  if (in.domains & ~uint64_t{AMDGPU_GEM_DOMAIN_MASK}) return -EINVAL;
  if ((in.domains & memory) == 0 || in.bo_size == 0) return -EINVAL;  // no GDS on this machine
  if (in.bo_size > kDrmFileWindow) return -ENOMEM;
  GemObject gem;
  gem.domains = in.domains;
  gem.flags = in.domain_flags;
  if (const int failure =
          BufferObject::create(machine_, file, vram ? emu::MemoryKind::Vram : emu::MemoryKind::Gtt,
                               vram ? MemoryPool::Vram : MemoryPool::Gtt, in.bo_size, gem.object))
    return failure;
  args.out = {};
  return add_gem(file, std::move(gem), args.out.handle);
}

int VirtualDrm::gem_userptr(DrmFile& file, drm_amdgpu_gem_userptr& args) {
  if (args.addr % kPageBytes != 0 || args.size % kPageBytes != 0 || args.size == 0) return -EINVAL;
  if (args.flags & ~kUserptrFlags) return -EINVAL;
  if (!(args.flags & AMDGPU_GEM_USERPTR_READONLY) && !(args.flags & AMDGPU_GEM_USERPTR_REGISTER))
    return -EACCES;
  GemObject gem;
  gem.domains = AMDGPU_GEM_DOMAIN_CPU;
  if (const int failure =
          BufferObject::wrap(machine_, file.gpu(), emu::MemoryKind::UserPtr, MemoryPool::System,
                             args.size, reinterpret_cast<std::byte*>(args.addr), gem.object))
    return failure;
  if (const int failure = pin_user_pages(args.addr, args.size)) return failure;
  return add_gem(file, std::move(gem), args.handle);
}

int VirtualDrm::gem_close(DrmFile& file, struct drm_gem_close& args) {
  GemObject* gem = file.gem_objects.find(args.handle);
  if (gem == nullptr) return -EINVAL;
  for (uint64_t va : gem->mappings) (void)file.vm().unmap(va);
  file.gem_objects.erase(args.handle);
  return 0;
}

int VirtualDrm::gem_mmap(DrmFile& file, union drm_amdgpu_gem_mmap& args) {
  GemObject* gem = file.gem_objects.find(args.in.handle);
  if (gem == nullptr) return -ENOENT;
  if (gem->object->is_user_memory()) return -EPERM;
  // An object of another open of the node lies in that one's file.
  if (!file.backing().holds(gem->object->file_offset(), gem->object->size())) return -EACCES;
  args.out.addr_ptr = gem->object->file_offset();
  return 0;
}

int VirtualDrm::gem_wait_idle(DrmFile& file, union drm_amdgpu_gem_wait_idle& args) {
  if (file.gem_objects.find(args.in.handle) == nullptr) return -ENOENT;
  args.out = {};  // no submissions, always idle
  return 0;
}

int VirtualDrm::gem_op(DrmFile& file, drm_amdgpu_gem_op& args) {
  GemObject* gem = file.gem_objects.find(args.handle);
  if (gem == nullptr) return -ENOENT;
  if (args.op == AMDGPU_GEM_OP_SET_PLACEMENT) {
    if (gem->object->is_user_memory()) return -EPERM;
    gem->domains =
        args.value & (AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_CPU);
    return 0;
  }
  if (args.op != AMDGPU_GEM_OP_GET_GEM_CREATE_INFO) return -EINVAL;
  const drm_amdgpu_gem_create_in created{.bo_size = gem->object->size(),
                                         .alignment = kPageBytes,
                                         .domains = gem->domains,
                                         .domain_flags = gem->flags};
  return put_user(args.value, created) ? 0 : -EFAULT;
}

int VirtualDrm::gem_metadata(DrmFile& file, drm_amdgpu_gem_metadata& args) {
  GemObject* gem = file.gem_objects.find(args.handle);
  if (gem == nullptr) return -ENOENT;
  if (args.op == AMDGPU_GEM_METADATA_OP_GET_METADATA) {
    args.data.tiling_info = gem->tiling;
    args.data.flags = 0;
    args.data.data_size_bytes = static_cast<uint32_t>(gem->metadata.size() * sizeof(uint32_t));
    std::ranges::copy(gem->metadata, args.data.data);
    return 0;
  }
  if (args.op != AMDGPU_GEM_METADATA_OP_SET_METADATA) return -EINVAL;
  if (args.data.data_size_bytes > kMetadataBytes) return -EINVAL;
  gem->tiling = args.data.tiling_info;
  gem->metadata.assign(args.data.data, args.data.data + args.data.data_size_bytes / 4);
  return 0;
}

int VirtualDrm::map_gem(DrmFile& file, GemObject& gem, const drm_amdgpu_gem_va& args) {
  const BufferObject& object = *gem.object;
  if (args.va_address % kPageBytes != 0 || args.offset_in_bo % kPageBytes != 0 ||
      args.map_size % kPageBytes != 0 || args.map_size == 0)
    return -EINVAL;
  if (args.offset_in_bo > object.size() || args.map_size > object.size() - args.offset_in_bo)
    return -EINVAL;
  auto mapped = file.vm().map({.va = args.va_address,
                               .size = args.map_size,
                               .host = object.host() + args.offset_in_bo,
                               .permissions = page_permissions(args.flags),
                               .kind = object.kind(),
                               .allocation = args.handle});
  if (!mapped) return -EINVAL;
  gem.mappings.push_back(args.va_address);
  return 0;
}

int VirtualDrm::unmap_gem(DrmFile& file, GemObject& gem, uint64_t va) {
  auto mapping = std::ranges::find(gem.mappings, va);
  if (mapping == gem.mappings.end()) return -ENOENT;
  gem.mappings.erase(mapping);
  (void)file.vm().unmap(va);
  return 0;
}

int VirtualDrm::gem_va(DrmFile& file, drm_amdgpu_gem_va& args) {
  if (args.va_address < 0x10000 || !access_ok(args.va_address, args.map_size)) return -EINVAL;
  if (args.flags & ~kVaFlags) return -EINVAL;
  // CLEAR and REPLACE, which may split mappings, exist for sparse textures; here they are not.
  if (args.operation != AMDGPU_VA_OP_MAP && args.operation != AMDGPU_VA_OP_UNMAP) return -EINVAL;
  GemObject* gem = file.gem_objects.find(args.handle);
  if (gem == nullptr) return -ENOENT;
  return args.operation == AMDGPU_VA_OP_MAP ? map_gem(file, *gem, args)
                                            : unmap_gem(file, *gem, args.va_address);
}

int VirtualDrm::prime_handle_to_fd(DrmFile& file, drm_prime_handle& args) {
  if (args.flags & ~uint32_t{DRM_CLOEXEC | DRM_RDWR}) return -EINVAL;
  GemObject* gem = file.gem_objects.find(args.handle);
  if (gem == nullptr) return -ENOENT;
  if (gem->object->is_user_memory()) return -EPERM;
  const int fd = render_nodes_.export_dmabuf(gem->object, args.flags);
  if (fd < 0) return fd;
  args.fd = fd;
  return 0;
}

int VirtualDrm::prime_fd_to_handle(DrmFile& file, drm_prime_handle& args) {
  GemObject gem;
  gem.object = render_nodes_.find_dmabuf(args.fd);
  if (gem.object == nullptr) return -EINVAL;
  for (auto& [id, existing] : file.gem_objects) {
    if (existing.object != gem.object) continue;
    args.handle = id;
    return 0;
  }
  gem.domains =
      gem.object->kind() == emu::MemoryKind::Vram ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT;
  return add_gem(file, std::move(gem), args.handle);
}

}  // namespace doppel::mock
