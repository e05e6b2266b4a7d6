// Memory ioctls: allocate, map, unmap, free, their errors, and what the CPU and GPUs see.
#include <cerrno>
#include <cstring>

#include "tests/backends/mock/kernel_fixture.h"

namespace doppel::mock::testing {
namespace {

using Alloc = kfd_ioctl_alloc_memory_of_gpu_args;

const emu::GpuVm& vm_of(Client& client, size_t index = 0) {
  return client.kernel->kfd().process().devices.at(index).drm->vm();
}

TEST(VirtualKfdMemory, NeedsAnAcquiredVm) {
  Client client;
  Alloc args;
  EXPECT_EQ(client.allocate(kVaBase, 4096, kVram, args), -ENODEV);
  EXPECT_EQ(client.acquire(), 0);
  EXPECT_EQ(client.acquire(), 0) << "the same render node again is fine";
  EXPECT_EQ(client.allocate(kVaBase, 4096, kVram, args), 0);
}

TEST(VirtualKfdMemory, AcquireTakesOneRenderNodePerGpu) {
  Client client("mock:gfx1100,cu=4,vram=1GiB,count=2");
  const int other = client.kernel->open("/dev/dri/renderD128", O_RDWR);
  ASSERT_GE(other, 0);
  kfd_ioctl_acquire_vm_args args{.drm_fd = static_cast<uint32_t>(other), .gpu_id = client.gpu(1)};
  EXPECT_EQ(client.call(AMDKFD_IOC_ACQUIRE_VM, args), -EINVAL) << "another GPU's node";
  EXPECT_EQ(client.acquire(0), 0);
  args.gpu_id = client.gpu(0);
  EXPECT_EQ(client.call(AMDKFD_IOC_ACQUIRE_VM, args), -EBUSY);
  args.drm_fd = static_cast<uint32_t>(client.kfd);
  EXPECT_EQ(client.call(AMDKFD_IOC_ACQUIRE_VM, args), -EINVAL) << "no render node";
  args.drm_fd = 9999;
  EXPECT_EQ(client.call(AMDKFD_IOC_ACQUIRE_VM, args), -EINVAL);
  EXPECT_EQ(client.kernel->close(other), 0);
}

TEST(VirtualKfdMemory, CpuAndGpuSeeTheSamePages) {
  Client client;
  client.acquire_all();
  for (uint32_t flags : {kVram, kGtt}) {
    Alloc args;
    ASSERT_EQ(client.allocate(kVaBase, 0x3000, flags, args), 0);
    ASSERT_EQ(client.map(args.handle, {client.gpu()}), 0);
    int os_error = 0;
    void* mapped = client.kernel->mmap(nullptr, 0x3000, PROT_READ | PROT_WRITE, MAP_SHARED,
                                       client.render[0], args.mmap_offset, &os_error);
    ASSERT_NE(mapped, nullptr) << os_error;
    std::memcpy(static_cast<char*>(mapped) + 0x1ffe, "gpu", 4);
    char seen[4] = {};
    ASSERT_TRUE(vm_of(client).read(kVaBase + 0x1ffe, std::as_writable_bytes(std::span(seen))));
    EXPECT_STREQ(seen, "gpu");
    EXPECT_EQ(client.kernel->munmap(mapped, 0x3000), 0);
    EXPECT_EQ(client.unmap(args.handle, {client.gpu()}), 0);
    EXPECT_EQ(client.free(args.handle), 0);
  }
}

TEST(VirtualKfdMemory, FreedMemoryComesBackZeroed) {
  Client client;
  client.acquire_all();
  const uint64_t handle = client.place(kVaBase, 4096, kVram);
  ASSERT_NE(handle, 0u);
  const uint32_t word = 0xdeadbeef;
  ASSERT_TRUE(client.kernel->kfd().process().devices[0].drm->vm().write(
      kVaBase, std::as_bytes(std::span(&word, 1))));
  ASSERT_EQ(client.unmap(handle, {client.gpu()}), 0);
  ASSERT_EQ(client.free(handle), 0);
  ASSERT_NE(client.place(kVaBase, 4096, kVram), 0u);
  uint32_t seen = 1;
  ASSERT_TRUE(vm_of(client).read(kVaBase, std::as_writable_bytes(std::span(&seen, 1))));
  EXPECT_EQ(seen, 0u);
}

TEST(VirtualKfdMemory, UserMemoryAppearsAtAnotherGpuAddress) {
  Client client;
  client.acquire_all();
  void* memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(memory, "host", 5);
  Alloc args;
  ASSERT_EQ(client.allocate(kVaBase, 8192, kUserptr, args, 0, reinterpret_cast<uint64_t>(memory)),
            0);
  ASSERT_EQ(client.map(args.handle, {client.gpu()}), 0);
  char seen[5] = {};
  ASSERT_TRUE(vm_of(client).read(kVaBase, std::as_writable_bytes(std::span(seen))));
  EXPECT_STREQ(seen, "host");
  EXPECT_FALSE(vm_of(client).read(reinterpret_cast<uint64_t>(memory),
                                  std::as_writable_bytes(std::span(seen))));
  // The client takes its memory away while the GPU still has it: the GPU loses it.
  EXPECT_EQ(client.kernel->munmap(memory, 8192), 0);
  EXPECT_FALSE(vm_of(client).read(kVaBase, std::as_writable_bytes(std::span(seen))));
  EXPECT_EQ(client.unmap(args.handle, {client.gpu()}), 0);
  EXPECT_EQ(client.free(args.handle), 0);
}

TEST(VirtualKfdMemory, RefusesUserMemoryThatIsNotThere) {
  Client client;
  client.acquire_all();
  Alloc args;
  void* hidden = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto address = reinterpret_cast<uint64_t>(hidden);
  EXPECT_EQ(client.allocate(kVaBase, 4096, kUserptr, args, 0, address), -EFAULT);
  munmap(hidden, 4096);
  EXPECT_EQ(client.allocate(kVaBase, 4096, kUserptr, args, 0, address), -EFAULT);
  EXPECT_EQ(client.allocate(kVaBase, 4096, kUserptr, args, 0, address + 8), -EINVAL);
  EXPECT_EQ(client.allocate(kVaBase, 4096, kUserptr, args, 0, 0), -EINVAL);
  EXPECT_EQ(client.allocate(kVaBase, 4096, kUserptr, args, 0, ~uint64_t{4095}), -EFAULT);
  EXPECT_EQ(client.kernel->usage().system_bytes, 0u) << "failed pins are not charged";
}

TEST(VirtualKfdMemory, ChecksAllocationArguments) {
  Client client;
  client.acquire_all();
  Alloc args;
  EXPECT_EQ(client.allocate(kVaBase, 0, kVram, args), -EINVAL);
  EXPECT_EQ(client.allocate(kVaBase, 4096, KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE, args), -EINVAL);
  EXPECT_EQ(client.allocate(kVaBase, 4096, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL, args), -EINVAL);
  EXPECT_EQ(client.allocate(kVaBase, 8192, KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP, args), -EINVAL);
  EXPECT_EQ(client.allocate(kVaBase, uint64_t{1} << 40, kVram, args), -ENOMEM);
  EXPECT_EQ(client.allocate(kVaBase, ~uint64_t{0}, kVram, args), -ENOMEM);
  EXPECT_EQ(client.allocate(kVaBase, ~uint64_t{0}, kGtt, args), -ENOMEM);
  args = {.va_addr = kVaBase,
          .size = 4096,
          .handle = 0,
          .mmap_offset = 0,
          .gpu_id = 77,
          .flags = kVram};
  EXPECT_EQ(client.call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args), -EINVAL) << "no such GPU";
  EXPECT_EQ(client.kernel->usage(), Usage{});
}

TEST(VirtualKfdMemory, SmallBarHasNoPublicVram) {
  Client client("mock:gfx1100,cu=4,vram=1GiB,bar=small");
  client.acquire_all();
  Alloc args;
  EXPECT_EQ(client.allocate(kVaBase, 4096, kVram, args), -EINVAL);
  EXPECT_EQ(client.allocate(kVaBase, 4096, kVram & ~uint32_t{KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC}, args),
            0);
}

TEST(VirtualKfdMemory, AccountsForVram) {
  Client client("mock:gfx1100,cu=4,vram=64MiB");
  client.acquire_all();
  const auto available = [&] {
    kfd_ioctl_get_available_memory_args args{.available = 0, .gpu_id = client.gpu(), .pad = 0};
    EXPECT_EQ(client.call(AMDKFD_IOC_AVAILABLE_MEMORY, args), 0);
    return args.available;
  };
  const uint64_t before = available();
  EXPECT_EQ(before % (2 << 20), 0u);
  EXPECT_LT(before, uint64_t{64} << 20) << "page tables take their share";
  const uint64_t handle = client.place(kVaBase, 4096, kVram);
  EXPECT_EQ(available(), before - (2 << 20)) << "counted in chunks of 2 MiB";
  Alloc args;
  EXPECT_EQ(client.allocate(kVaBase + (1 << 30), before + (2 << 20), kVram, args), -ENOMEM);
  ASSERT_EQ(client.unmap(handle, {client.gpu()}), 0);
  ASSERT_EQ(client.free(handle), 0);
  EXPECT_EQ(available(), before);
  EXPECT_EQ(client.kernel->usage(), Usage{});
}

TEST(VirtualKfdMemory, FreeingIsRefusedWhileMappedAndTwice) {
  Client client;
  client.acquire_all();
  const uint64_t handle = client.place(kVaBase, 4096, kVram);
  EXPECT_EQ(client.free(handle), -EBUSY);
  EXPECT_EQ(client.unmap(handle, {client.gpu()}), 0);
  EXPECT_EQ(client.unmap(handle, {client.gpu()}), -EINVAL) << "not mapped any more";
  EXPECT_EQ(client.free(handle), 0);
  EXPECT_EQ(client.free(handle), -EINVAL);
  EXPECT_EQ(client.map(handle, {client.gpu()}), -ENOMEM) << "the driver's errno for a dead handle";
  EXPECT_EQ(client.free(0), -EINVAL);
  EXPECT_EQ(client.free(~uint64_t{0}), -EINVAL);
}

TEST(VirtualKfdMemory, MappingStopsAtTheFirstBadGpu) {
  Client client("mock:gfx1100,cu=4,vram=1GiB,count=2");
  ASSERT_EQ(client.acquire(0), 0);
  Alloc args;
  ASSERT_EQ(client.allocate(kVaBase, 4096, kVram, args), 0);
  uint32_t done = 0;
  EXPECT_EQ(client.map(args.handle, {client.gpu(0), client.gpu(1)}, &done), -ENODEV);
  EXPECT_EQ(done, 1u);
  ASSERT_EQ(client.acquire(1), 0);
  EXPECT_EQ(client.map(args.handle, {client.gpu(0), client.gpu(1)}, &done), 0) << "goes on";
  EXPECT_EQ(done, 2u);
  done = 0;
  EXPECT_EQ(client.map(args.handle, {client.gpu(0), 42}, &done), -EINVAL);
  EXPECT_EQ(done, 1u) << "mapping again is no error";
  done = 3;
  EXPECT_EQ(client.map(args.handle, {client.gpu(0)}, &done), -EINVAL);
  EXPECT_EQ(client.map(args.handle, {}), -EINVAL);
}

TEST(VirtualKfdMemory, OnlyMappedGpusReachAnAllocation) {
  Client client("mock:gfx1100,cu=4,vram=1GiB,count=2");
  client.acquire_all();
  const uint64_t handle = client.place(kVaBase, 4096, kVram, 0);
  ASSERT_NE(handle, 0u);
  EXPECT_NE(vm_of(client, 0).find(kVaBase), nullptr);
  EXPECT_EQ(vm_of(client, 1).find(kVaBase), nullptr);
  ASSERT_EQ(client.map(handle, {client.gpu(1)}), 0);
  ASSERT_NE(vm_of(client, 1).find(kVaBase), nullptr);
  EXPECT_EQ(vm_of(client, 1).find(kVaBase)->kind, emu::MemoryKind::PeerVram);
  EXPECT_EQ(vm_of(client, 1).find(kVaBase)->host, vm_of(client, 0).find(kVaBase)->host);
}

TEST(VirtualKfdMemory, PermissionsFollowTheFlags) {
  Client client;
  client.acquire_all();
  const uint32_t plain = KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
  ASSERT_NE(client.place(kVaBase, 4096, plain), 0u);
  ASSERT_NE(client.place(kVaBase + 4096, 4096, plain | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE), 0u);
  ASSERT_NE(client.place(kVaBase + 8192, 4096, plain | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE), 0u);
  const emu::GpuVm& vm = vm_of(client);
  EXPECT_FALSE(vm.translate(kVaBase, 4, emu::Access::Write));
  EXPECT_FALSE(vm.translate(kVaBase, 4, emu::Access::Execute));
  EXPECT_TRUE(vm.translate(kVaBase, 4, emu::Access::Read));
  EXPECT_TRUE(vm.translate(kVaBase + 4096, 4, emu::Access::Write));
  EXPECT_TRUE(vm.translate(kVaBase + 8192, 4, emu::Access::Execute));
}

TEST(VirtualKfdMemory, OverlappingOrUnalignedAddressesDoNotMap) {
  Client client;
  client.acquire_all();
  ASSERT_NE(client.place(kVaBase, 8192, kVram), 0u);
  for (uint64_t va : {kVaBase, kVaBase + 4096, kVaBase + 100000 + 12, uint64_t{0}}) {
    Alloc args;
    ASSERT_EQ(client.allocate(va, 8192, kVram, args), 0);
    EXPECT_EQ(client.map(args.handle, {client.gpu()}), -EINVAL) << std::hex << va;
    EXPECT_EQ(client.free(args.handle), 0);
  }
}

TEST(VirtualKfdMemory, AqlQueueMemoryAppearsTwice) {
  Client client;
  client.acquire_all();
  const uint32_t flags = kGtt | KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM;
  const uint64_t handle = client.place(kVaBase, 8192, flags);
  ASSERT_NE(handle, 0u);
  const emu::GpuVm& vm = vm_of(client);
  EXPECT_EQ(vm.find(kVaBase)->host, vm.find(kVaBase + 4096)->host);
  EXPECT_EQ(client.kernel->usage().gtt_bytes, 4096u);
  EXPECT_EQ(client.unmap(handle, {client.gpu()}), 0);
  EXPECT_EQ(vm.find(kVaBase + 4096), nullptr);
}

TEST(VirtualKfdMemory, MmapNeedsALiveAllocation) {
  Client client;
  client.acquire_all();
  Alloc args;
  ASSERT_EQ(client.allocate(kVaBase, 4096, kVram, args), 0);
  const auto map = [&](uint64_t offset, size_t length) {
    int os_error = 0;
    void* mapped = client.kernel->mmap(nullptr, length, PROT_READ, MAP_SHARED, client.render[0],
                                       offset, &os_error);
    if (mapped != nullptr) client.kernel->munmap(mapped, length);
    return os_error;
  };
  EXPECT_EQ(map(args.mmap_offset, 4096), 0);
  EXPECT_EQ(map(args.mmap_offset, 8192), EINVAL);
  EXPECT_EQ(map(args.mmap_offset + 4096, 4096), EINVAL);
  EXPECT_EQ(map(0, 4096), EINVAL);
  ASSERT_EQ(client.free(args.handle), 0);
  EXPECT_EQ(map(args.mmap_offset, 4096), EINVAL);
}

TEST(VirtualKfdMemory, SharesThroughDmaBufs) {
  Client client("mock:gfx1100,cu=4,vram=1GiB,count=2");
  client.acquire_all();
  const uint64_t handle = client.place(kVaBase, 4096, kVram);
  kfd::abi::ExportDmabufArgs exported{.handle = handle, .flags = O_CLOEXEC, .dmabuf_fd = 0};
  ASSERT_EQ(client.call(kfd::abi::kExportDmabuf, exported), 0);
  kfd_ioctl_get_dmabuf_info_args info{};
  info.dmabuf_fd = exported.dmabuf_fd;
  ASSERT_EQ(client.call(AMDKFD_IOC_GET_DMABUF_INFO, info), 0);
  EXPECT_EQ(info.size, 4096u);
  EXPECT_EQ(info.gpu_id, client.gpu(0));
  EXPECT_TRUE(info.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
  kfd_ioctl_import_dmabuf_args imported{.va_addr = kVaBase + 0x10000,
                                        .handle = 0,
                                        .gpu_id = client.gpu(1),
                                        .dmabuf_fd = exported.dmabuf_fd};
  ASSERT_EQ(client.call(AMDKFD_IOC_IMPORT_DMABUF, imported), 0);
  ASSERT_EQ(client.map(imported.handle, {client.gpu(1)}), 0);
  EXPECT_EQ(vm_of(client, 1).find(kVaBase + 0x10000)->host, vm_of(client, 0).find(kVaBase)->host);
  imported.dmabuf_fd = static_cast<uint32_t>(client.kfd);
  EXPECT_EQ(client.call(AMDKFD_IOC_IMPORT_DMABUF, imported), -EINVAL);
  EXPECT_EQ(client.kernel->close(static_cast<int>(exported.dmabuf_fd)), 0);
}

}  // namespace
}  // namespace doppel::mock::testing
