// The render node: queries, buffer objects, and refusals.
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "tests/backends/mock/kernel_fixture.h"

namespace doppel::mock::testing {
namespace {

class VirtualDrmTest : public ::testing::Test {
 protected:
  template <class Args>
  int call(unsigned long request, Args& args, size_t gpu = 0) {
    return client.kernel->ioctl(client.render[gpu], request, &args);
  }
  template <class T>
  int query(uint32_t what, T& out, size_t size = sizeof(T)) {
    drm_amdgpu_info args{};
    args.query = what;
    args.return_pointer = reinterpret_cast<uint64_t>(&out);
    args.return_size = static_cast<uint32_t>(size);
    return call(DRM_IOCTL_AMDGPU_INFO, args);
  }
  uint32_t create(uint64_t size, uint64_t domains = AMDGPU_GEM_DOMAIN_VRAM) {
    union drm_amdgpu_gem_create args {};
    args.in.bo_size = size;
    args.in.domains = domains;
    return call(DRM_IOCTL_AMDGPU_GEM_CREATE, args) == 0 ? args.out.handle : 0;
  }
  int close_gem(uint32_t handle) {
    drm_gem_close args{.handle = handle, .pad = 0};
    return call(DRM_IOCTL_GEM_CLOSE, args);
  }

  Client client{"mock:gfx1100,vram=4GiB,count=2"};
};

TEST_F(VirtualDrmTest, SaysItIsAmdgpu) {
  char name[16] = {};
  drm_version args{};
  ASSERT_EQ(call(DRM_IOCTL_VERSION, args), 0) << "first the lengths";
  EXPECT_EQ(args.name_len, 6u);
  args.name = name;
  args.date_len = args.desc_len = 0;
  ASSERT_EQ(call(DRM_IOCTL_VERSION, args), 0);
  EXPECT_STREQ(name, "amdgpu");
  EXPECT_EQ(args.version_major, 3);
  args.name = reinterpret_cast<char*>(16);
  EXPECT_EQ(call(DRM_IOCTL_VERSION, args), -EFAULT);
}

TEST_F(VirtualDrmTest, DeviceInfoFitsOldAndNewClients) {
  drm_amdgpu_info_device info;
  std::memset(&info, 0xee, sizeof info);
  ASSERT_EQ(query(AMDGPU_INFO_DEV_INFO, info), 0);
  EXPECT_EQ(info.device_id, 0x744cu);
  EXPECT_EQ(info.pci_rev, 0xc8u);
  EXPECT_EQ(info.cu_active_number, 96u);
  EXPECT_EQ(info.num_shader_engines, 6u);
  EXPECT_EQ(info.wave_front_size, 32u);
  EXPECT_EQ(info.gpu_counter_freq, 100'000u);
  unsigned cus = 0;
  for (const auto& engine : info.cu_bitmap)
    for (uint32_t array : engine) cus += static_cast<unsigned>(__builtin_popcount(array));
  EXPECT_EQ(cus, 96u);
  // A newer libdrm asks for more, an older one for less.
  unsigned char large[512];
  std::memset(large, 0xee, sizeof large);
  ASSERT_EQ(query(AMDGPU_INFO_DEV_INFO, large), 0);
  EXPECT_EQ(large[439], 0u);
  EXPECT_EQ(large[440], 0xeeu) << "only what the driver knows";
  ASSERT_EQ(query(AMDGPU_INFO_DEV_INFO, large, 4), 0);
}

TEST_F(VirtualDrmTest, MemoryQueriesFollowAllocations) {
  drm_amdgpu_memory_info before{};
  ASSERT_EQ(query(AMDGPU_INFO_MEMORY, before), 0);
  EXPECT_EQ(before.vram.total_heap_size, uint64_t{4} << 30);
  EXPECT_EQ(before.vram.heap_usage, 0u);
  const uint32_t handle = create(1 << 20);
  ASSERT_NE(handle, 0u);
  uint64_t used = 0;
  ASSERT_EQ(query(AMDGPU_INFO_VRAM_USAGE, used), 0);
  EXPECT_EQ(used, 1u << 20);
  ASSERT_EQ(close_gem(handle), 0);
  ASSERT_EQ(query(AMDGPU_INFO_VRAM_USAGE, used), 0);
  EXPECT_EQ(used, 0u);
}

TEST_F(VirtualDrmTest, SmallQueries) {
  uint32_t word = 0;
  ASSERT_EQ(query(AMDGPU_INFO_ACCEL_WORKING, word), 0);
  EXPECT_EQ(word, 1u);
  uint64_t ticks = 1;
  client.kernel->machine().simulator().clock().advance_ns(1000);
  ASSERT_EQ(query(AMDGPU_INFO_TIMESTAMP, ticks), 0);
  EXPECT_EQ(ticks, 100u);
  drm_amdgpu_info args{};
  args.query = AMDGPU_INFO_READ_MMR_REG;
  args.return_pointer = reinterpret_cast<uint64_t>(&word);
  args.return_size = 4;
  args.read_mmr_reg.dword_offset = 0x263e;
  args.read_mmr_reg.count = 1;
  ASSERT_EQ(call(DRM_IOCTL_AMDGPU_INFO, args), 0);
  EXPECT_EQ(word, 0x545u) << "GB_ADDR_CONFIG";
  args.read_mmr_reg.dword_offset = 0x1;
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_INFO, args), -EFAULT);
  args.read_mmr_reg.count = 129;
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_INFO, args), -EINVAL);
}

TEST_F(VirtualDrmTest, QueriesWithoutAnswer) {
  uint64_t word = 0;
  EXPECT_EQ(query(0x7f, word), -EINVAL);
  EXPECT_EQ(query(AMDGPU_INFO_VBIOS, word), -EINVAL);
  EXPECT_EQ(query(AMDGPU_INFO_ACCEL_WORKING, word, 0), -EINVAL);
  drm_amdgpu_info args{};
  args.query = AMDGPU_INFO_ACCEL_WORKING;
  args.return_size = 4;
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_INFO, args), -EINVAL) << "null";
  args.return_pointer = 8;
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_INFO, args), -EFAULT);
}

TEST_F(VirtualDrmTest, BuffersMapOnTheCpuAndTheGpu) {
  const uint32_t handle = create(8192);
  union drm_amdgpu_gem_mmap map {};
  map.in.handle = handle;
  ASSERT_EQ(call(DRM_IOCTL_AMDGPU_GEM_MMAP, map), 0);
  int os_error = 0;
  auto* cpu =
      static_cast<char*>(client.kernel->mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
                                             client.render[0], map.out.addr_ptr, &os_error));
  ASSERT_NE(cpu, nullptr) << os_error;
  std::strcpy(cpu + 4096, "page two");
  ASSERT_EQ(client.acquire(), 0);
  drm_amdgpu_gem_va va{};
  va.handle = handle;
  va.operation = AMDGPU_VA_OP_MAP;
  va.flags = AMDGPU_VM_PAGE_READABLE;
  va.va_address = kVaBase;
  va.offset_in_bo = 4096;
  va.map_size = 4096;
  ASSERT_EQ(call(DRM_IOCTL_AMDGPU_GEM_VA, va), 0);
  const emu::GpuVm& vm = client.kernel->kfd().process().devices[0].drm->vm();
  char seen[9] = {};
  ASSERT_TRUE(vm.read(kVaBase, std::as_writable_bytes(std::span(seen))));
  EXPECT_STREQ(seen, "page two");
  va.map_size = 8192;
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_GEM_VA, va), -EINVAL) << "beyond the object";
  ASSERT_EQ(close_gem(handle), 0);
  EXPECT_EQ(vm.find(kVaBase), nullptr) << "closing unmaps";
  client.kernel->munmap(cpu, 8192);
}

TEST_F(VirtualDrmTest, RefusesBadBuffers) {
  EXPECT_EQ(create(0), 0u);
  EXPECT_EQ(create(4096, 0x100), 0u);
  EXPECT_EQ(create(4096, AMDGPU_GEM_DOMAIN_GDS), 0u);
  EXPECT_EQ(create(uint64_t{8} << 30), 0u) << "more than there is";
  EXPECT_EQ(close_gem(77), -EINVAL);
  union drm_amdgpu_gem_mmap map {};
  map.in.handle = 77;
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_GEM_MMAP, map), -ENOENT);
  EXPECT_EQ(client.kernel->usage(), Usage{});
}

TEST_F(VirtualDrmTest, SharesBetweenGpus) {
  const uint32_t handle = create(4096);
  drm_prime_handle out{.handle = handle, .flags = DRM_CLOEXEC, .fd = -1};
  ASSERT_EQ(call(DRM_IOCTL_PRIME_HANDLE_TO_FD, out), 0);
  drm_prime_handle in{.handle = 0, .flags = 0, .fd = out.fd};
  ASSERT_EQ(call(DRM_IOCTL_PRIME_FD_TO_HANDLE, in), 0);
  EXPECT_EQ(in.handle, handle) << "the same object, the same handle";
  ASSERT_EQ(call(DRM_IOCTL_PRIME_FD_TO_HANDLE, in, 1), 0);
  union drm_amdgpu_gem_mmap map {};
  map.in.handle = in.handle;
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_GEM_MMAP, map, 1), -EACCES) << "lies in the other node's file";
  in.fd = client.kfd;
  EXPECT_EQ(call(DRM_IOCTL_PRIME_FD_TO_HANDLE, in), -EINVAL);
}

TEST_F(VirtualDrmTest, SubmissionIsRefusedAndRingsAreNone) {
  drm_amdgpu_info args{};
  drm_amdgpu_info_hw_ip ip{};
  args.query = AMDGPU_INFO_HW_IP_INFO;
  args.query_hw_ip.type = AMDGPU_HW_IP_COMPUTE;
  args.return_pointer = reinterpret_cast<uint64_t>(&ip);
  args.return_size = sizeof ip;
  ASSERT_EQ(call(DRM_IOCTL_AMDGPU_INFO, args), 0);
  EXPECT_EQ(ip.hw_ip_version_major, 11u);
  EXPECT_EQ(ip.available_rings, 0u);
  union drm_amdgpu_cs cs {};
  EXPECT_EQ(call(DRM_IOCTL_AMDGPU_CS, cs), -EINVAL);
}

TEST_F(VirtualDrmTest, EveryNumberHasAnErrno) {
  for (uint32_t number = 0; number <= 0xff; ++number) {
    alignas(8) char zero[512] = {};
    const int result = client.kernel->ioctl(
        client.render[0], _IOC(_IOC_READ | _IOC_WRITE, 'd', number, sizeof zero), zero);
    EXPECT_LE(result, 0) << number;
    if (VirtualDrm::ioctl_name(number).empty()) {
      EXPECT_TRUE(result == -EINVAL || result == -EACCES) << number << " " << result;
    }
  }
  drm_mode_card_res modes{};
  EXPECT_EQ(call(DRM_IOCTL_MODE_GETRESOURCES, modes), -EACCES) << "render nodes set no modes";
}

TEST_F(VirtualDrmTest, DescribesItself) {
  auto info = client.kernel->render_node_info(client.render[0]);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->driver_name, "amdgpu");
  EXPECT_EQ(info->marketing_name, "AMD Radeon RX 7900 XTX");
  EXPECT_EQ(info->vram_bytes, uint64_t{4} << 30);
  EXPECT_FALSE(client.kernel->render_node_info(client.kfd).has_value());
}

}  // namespace
}  // namespace doppel::mock::testing
