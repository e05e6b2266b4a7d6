#include "backends/mock/buffer_object.h"

#include <cerrno>

namespace doppel::mock {

BufferObject::BufferObject(Machine& machine, VirtualGpu& gpu, emu::MemoryKind kind, MemoryPool pool,
                           uint64_t size)
    : machine_(&machine), gpu_(&gpu), kind_(kind), pool_(pool), size_(size) {}

BufferObject::~BufferObject() {
  if (backing_) backing_->release(file_offset_);
  machine_->uncharge(*gpu_, pool_, size_);
}

int BufferObject::create(Machine& machine, DrmFile& file, emu::MemoryKind kind, MemoryPool pool,
                         uint64_t size, std::shared_ptr<BufferObject>& object) {
  if (size > kDrmFileWindow) return -ENOMEM;
  size = page_align(size);
  if (const int failure = machine.charge(file.gpu(), pool, size)) return failure;
  std::shared_ptr<BufferObject> made(new BufferObject(machine, file.gpu(), kind, pool, size));
  auto offset = file.backing().reserve(size);
  if (!offset) return -ENOMEM;
  made->backing_ = file.shared_backing();
  made->file_offset_ = *offset;
  made->host_ = file.backing().host(*offset);
  if (made->host_ == nullptr) return -ENOMEM;
  object = std::move(made);
  return 0;
}

int BufferObject::wrap(Machine& machine, VirtualGpu& gpu, emu::MemoryKind kind, MemoryPool pool,
                       uint64_t size, std::byte* host, std::shared_ptr<BufferObject>& object) {
  if (size > kDrmFileWindow) return -ENOMEM;
  size = page_align(size);
  if (const int failure = machine.charge(gpu, pool, size)) return failure;
  object.reset(new BufferObject(machine, gpu, kind, pool, size));
  object->host_ = host;
  return 0;
}

Result<std::shared_ptr<DrmFile>> DrmFile::open(VirtualGpu& gpu) {
  DOPPEL_ASSIGN(MemfdBacking backing,
                MemfdBacking::create("doppel-render-node", kDrmFileBegin + kDrmFileWindow,
                                     kDrmFileBegin, kDrmFileBegin + kDrmFileWindow));
  return std::make_shared<DrmFile>(gpu, std::move(backing));
}

DrmFile::DrmFile(VirtualGpu& gpu, MemfdBacking backing)
    : gpu_(&gpu), backing_(std::make_shared<MemfdBacking>(std::move(backing))) {}

}  // namespace doppel::mock
