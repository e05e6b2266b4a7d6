// Queue ioctls: argument checks in the driver's order, doorbells, limits, updates.
#include <cerrno>

#include "backends/kfd/queue_buffers.h"
#include "tests/backends/mock/kernel_fixture.h"

namespace doppel::mock::testing {
namespace {

using Create = kfd_ioctl_create_queue_args;
constexpr int kNotSupported = -524;
constexpr uint64_t kRing = kVaBase;
constexpr uint64_t kPointers = kVaBase + (1 << 20);
constexpr uint64_t kEop = kVaBase + (2 << 20);
constexpr uint64_t kCwsr = kVaBase + (16 << 20);

class VirtualKfdQueue : public ::testing::Test {
 protected:
  void SetUp() override { reset("mock:gfx1100,cu=4,vram=1GiB"); }

  void reset(std::string_view specification) {
    client = std::make_unique<Client>(specification);
    client->acquire_all();
    const uint32_t local = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
    sizes = client->kernel->machine().gpus()[0].profile().queue_buffers();
    for (size_t gpu = 0; gpu < client->gpu_ids.size(); ++gpu) {
      const uint64_t offset = gpu << 32;
      ASSERT_NE(client->place(kRing + offset, 65536, kGtt, gpu), 0u);
      ASSERT_NE(client->place(kPointers + offset, 4096, kGtt, gpu), 0u);
      ASSERT_NE(client->place(kEop + offset, 4096, local, gpu), 0u);
      ASSERT_NE(client->place(kCwsr + offset, sizes.context_save_area_bytes, local, gpu), 0u);
    }
  }

  Create compute(uint32_t type = KFD_IOC_QUEUE_TYPE_COMPUTE, size_t gpu = 0) const {
    const uint64_t offset = gpu << 32;
    Create args{};
    args.ring_base_address = kRing + offset;
    args.ring_size = 65536;
    args.write_pointer_address = kPointers + offset;
    args.read_pointer_address = kPointers + offset + 128;
    args.gpu_id = client->gpu(gpu);
    args.queue_type = type;
    args.queue_percentage = 100;
    args.queue_priority = 7;
    args.eop_buffer_address = kEop + offset;
    args.eop_buffer_size = sizes.eop_bytes;
    args.ctx_save_restore_address = kCwsr + offset;
    args.ctx_save_restore_size = sizes.context_save_restore_bytes;
    args.ctl_stack_size = sizes.control_stack_bytes;
    return args;
  }
  Create sdma(size_t gpu = 0) const {
    Create args = compute(KFD_IOC_QUEUE_TYPE_SDMA, gpu);
    args.eop_buffer_address = args.ctx_save_restore_address = 0;
    return args;
  }
  int create(Create args, uint32_t* id = nullptr) {
    const int result = client->call(AMDKFD_IOC_CREATE_QUEUE, args);
    if (id != nullptr) *id = args.queue_id;
    return result;
  }
  int destroy(uint32_t id) {
    kfd_ioctl_destroy_queue_args args{.queue_id = id, .pad = 0};
    return client->call(AMDKFD_IOC_DESTROY_QUEUE, args);
  }

  std::unique_ptr<Client> client;
  kfd::QueueBufferSizes sizes;
};

TEST_F(VirtualKfdQueue, CreatesEveryKindAndGivesIdsBack) {
  for (uint32_t type : {KFD_IOC_QUEUE_TYPE_COMPUTE, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL}) {
    uint32_t id = 99;
    ASSERT_EQ(create(compute(type), &id), 0);
    EXPECT_EQ(id, 0u);
    EXPECT_EQ(destroy(id), 0);
    EXPECT_EQ(destroy(id), -EINVAL);
  }
  uint32_t first = 99;
  uint32_t second = 99;
  ASSERT_EQ(create(sdma(), &first), 0);
  ASSERT_EQ(create(sdma(), &second), 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(destroy(second), 0);
  EXPECT_EQ(destroy(first), 0);
  EXPECT_EQ(client->kernel->usage().queues, 0u);
}

TEST_F(VirtualKfdQueue, AllDoorbellsLieInOneMappableSlice) {
  std::vector<uint64_t> offsets;
  for (int i = 0; i < 3; ++i) {
    for (Create args : {compute(), sdma()}) {
      ASSERT_EQ(client->call(AMDKFD_IOC_CREATE_QUEUE, args), 0);
      offsets.push_back(args.doorbell_offset);
    }
  }
  const uint64_t slice = offsets[0] & ~uint64_t{kfd::abi::kDoorbellSliceBytes - 1};
  EXPECT_EQ(slice & 0xffffffff, 0u) << "clients mask the low 32 bits away";
  for (size_t i = 0; i < offsets.size(); ++i) {
    EXPECT_EQ(offsets[i] & ~uint64_t{kfd::abi::kDoorbellSliceBytes - 1}, slice);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(offsets[i], offsets[j]);
  }
  int os_error = 0;
  const auto map = [&](uint64_t offset, size_t length) {
    return client->kernel->mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, client->kfd,
                                offset, &os_error);
  };
  void* doorbells = map(slice, kfd::abi::kDoorbellSliceBytes);
  ASSERT_NE(doorbells, nullptr) << os_error;
  EXPECT_EQ(map(slice, 4096), nullptr);
  EXPECT_EQ(os_error, EINVAL);
  EXPECT_EQ(map(slice + (uint64_t{1} << kKfdMmapGpuShift), kfd::abi::kDoorbellSliceBytes), nullptr);
  EXPECT_EQ(os_error, ENODEV) << "no such GPU";
  EXPECT_EQ(client->kernel->munmap(doorbells, kfd::abi::kDoorbellSliceBytes), 0);
}

struct Bad {
  const char* name;
  void (*spoil)(Create&);
  int expected;
};
void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.name;
}

class BadQueue : public VirtualKfdQueue, public ::testing::WithParamInterface<Bad> {};

TEST_P(BadQueue, IsRefused) {
  Create args = compute();
  GetParam().spoil(args);
  EXPECT_EQ(create(args), GetParam().expected);
  EXPECT_EQ(client->kernel->usage().queues, 0u);
  EXPECT_EQ(create(compute()), 0) << "nothing was left behind";
}

constexpr uint64_t kKernelAddress = 0xffff'8000'0000'0000;

INSTANTIATE_TEST_SUITE_P(
    Arguments, BadQueue,
    ::testing::Values(
        Bad{"Percentage", [](Create& a) { a.queue_percentage = 101; }, -EINVAL},
        Bad{"Priority", [](Create& a) { a.queue_priority = 16; }, -EINVAL},
        Bad{"RingSize", [](Create& a) { a.ring_size = 65535; }, -EINVAL},
        Bad{"RingAddress", [](Create& a) { a.ring_base_address = kKernelAddress; }, -EFAULT},
        Bad{"ReadPointer", [](Create& a) { a.read_pointer_address = kKernelAddress; }, -EFAULT},
        Bad{"WritePointer", [](Create& a) { a.write_pointer_address = kKernelAddress; }, -EFAULT},
        Bad{"UnmappedWritePointer", [](Create& a) { a.write_pointer_address = 0x1000; }, -EINVAL},
        Bad{"LargeWritePointerMapping", [](Create& a) { a.write_pointer_address = kRing; },
            -EINVAL},
        Bad{"EopAddress", [](Create& a) { a.eop_buffer_address = kKernelAddress; }, -EFAULT},
        Bad{"EopTooSmall", [](Create& a) { a.eop_buffer_size = 2048; }, -EINVAL},
        Bad{"CwsrAddress", [](Create& a) { a.ctx_save_restore_address = kKernelAddress; }, -EFAULT},
        Bad{"CwsrTooSmall", [](Create& a) { a.ctx_save_restore_size -= 4096; }, -EINVAL},
        Bad{"ControlStack", [](Create& a) { a.ctl_stack_size += 4096; }, -EINVAL},
        Bad{"Type", [](Create& a) { a.queue_type = 4; }, kNotSupported},
        Bad{"Gpu", [](Create& a) { a.gpu_id = 1; }, -EINVAL},
        Bad{"XgmiWithoutXgmi", [](Create& a) { a.queue_type = KFD_IOC_QUEUE_TYPE_SDMA_XGMI; },
            -ENOMEM}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(VirtualKfdQueue, NeedsAnAcquiredVm) {
  Client fresh;
  Create args = compute();
  args.gpu_id = fresh.gpu();
  EXPECT_EQ(fresh.call(AMDKFD_IOC_CREATE_QUEUE, args), -ESRCH);
}

TEST_F(VirtualKfdQueue, OlderStructureWithoutControlStackIsAccepted) {
  // 88 bytes, as in 1.11: the rest of what the driver knows reads as zero.
  Create args = compute();
  args.ctl_stack_size = 0;
  static_assert(sizeof(Create) == 88);
  EXPECT_EQ(create(args), 0);
}

TEST_F(VirtualKfdQueue, BuffersMustFitExactlyFromVersion117On) {
  reset("mock:gfx1100,cu=4,vram=1GiB,kfd=1.17");
  EXPECT_EQ(create(compute()), 0);
  for (auto spoil : {+[](Create& a) { a.ctl_stack_size = 0; }, +[](Create& a) { a.ring_size /= 2; },
                     +[](Create& a) { a.ring_base_address += 4096; },
                     +[](Create& a) { a.read_pointer_address = 0x1000; },
                     +[](Create& a) { a.eop_buffer_size = 8192; },
                     +[](Create& a) { a.ctx_save_restore_address += 4096; }}) {
    Create args = compute();
    spoil(args);
    EXPECT_EQ(create(args), -EINVAL);
  }
}

TEST_F(VirtualKfdQueue, SdmaQueuesRunOutPerGpu) {
  reset("mock:gfx1100,cu=4,vram=1GiB,count=2");
  const DeviceProfile& profile = client->kernel->machine().gpus()[0].profile();
  const uint32_t queues = profile.sdma_engines * profile.sdma_queues_per_engine;
  uint32_t last = 0;
  for (uint32_t i = 0; i < queues; ++i) ASSERT_EQ(create(sdma(0), &last), 0);
  EXPECT_EQ(create(sdma(0)), -ENOMEM);
  EXPECT_EQ(create(sdma(1)), 0) << "the other GPU has its own";
  EXPECT_EQ(destroy(last), 0);
  EXPECT_EQ(create(sdma(0)), 0);
}

TEST_F(VirtualKfdQueue, ComputeQueuesRunOutPerProcess) {
  for (int i = 0; i < 127; ++i) ASSERT_EQ(create(compute()), 0) << i;
  EXPECT_EQ(create(compute()), -ENOSPC);
}

TEST_F(VirtualKfdQueue, UpdatesAreChecked) {
  uint32_t id = 0;
  ASSERT_EQ(create(compute(), &id), 0);
  kfd_ioctl_update_queue_args good{.ring_base_address = kRing,
                                   .queue_id = id,
                                   .ring_size = 65536,
                                   .queue_percentage = 100,
                                   .queue_priority = 7};
  const auto update = [&](auto change) {
    kfd_ioctl_update_queue_args args = good;
    change(args);
    return client->call(AMDKFD_IOC_UPDATE_QUEUE, args);
  };
  EXPECT_EQ(update([](auto&) {}), 0);
  EXPECT_EQ(update([](auto& a) { a.queue_percentage = 0; }), 0) << "paused";
  EXPECT_EQ(update([](auto&) {}), 0) << "running again";
  EXPECT_EQ(update([](auto& a) { a.queue_percentage = 101; }), -EINVAL);
  EXPECT_EQ(update([](auto& a) { a.queue_priority = 16; }), -EINVAL);
  EXPECT_EQ(update([](auto& a) { a.ring_size = 3; }), -EINVAL);
  EXPECT_EQ(update([](auto& a) { a.ring_base_address = kKernelAddress; }), -EFAULT);
  EXPECT_EQ(update([](auto& a) { a.queue_id = 900; }), -EFAULT);
}

TEST_F(VirtualKfdQueue, WaveStateIsThatOfAStoppedComputeQueue) {
  uint32_t id = 0;
  ASSERT_EQ(create(compute(), &id), 0);
  kfd_ioctl_get_queue_wave_state_args args{};
  args.queue_id = id;
  EXPECT_EQ(client->call(AMDKFD_IOC_GET_QUEUE_WAVE_STATE, args), -EINVAL) << "active";
  kfd_ioctl_update_queue_args pause{.ring_base_address = kRing,
                                    .queue_id = id,
                                    .ring_size = 65536,
                                    .queue_percentage = 0,
                                    .queue_priority = 7};
  ASSERT_EQ(client->call(AMDKFD_IOC_UPDATE_QUEUE, pause), 0);
  EXPECT_EQ(client->call(AMDKFD_IOC_GET_QUEUE_WAVE_STATE, args), 0);
  args.queue_id = 900;
  EXPECT_EQ(client->call(AMDKFD_IOC_GET_QUEUE_WAVE_STATE, args), -EFAULT);
}

TEST_F(VirtualKfdQueue, CuMasksEnableWholeWorkgroupProcessors) {
  uint32_t id = 0;
  ASSERT_EQ(create(compute(), &id), 0);
  const auto mask = [&](uint32_t word, uint32_t bits = 32, uint32_t queue = 0) {
    kfd_ioctl_set_cu_mask_args args{
        .queue_id = queue, .num_cu_mask = bits, .cu_mask_ptr = reinterpret_cast<uint64_t>(&word)};
    return client->call(AMDKFD_IOC_SET_CU_MASK, args);
  };
  EXPECT_EQ(mask(0x3), 0);
  EXPECT_EQ(mask(0xc), 0);
  EXPECT_EQ(mask(0x1), -EINVAL);
  EXPECT_EQ(mask(0x6), -EINVAL);
  EXPECT_EQ(mask(0x3, 0), -EINVAL);
  EXPECT_EQ(mask(0x3, 33), -EINVAL);
  EXPECT_EQ(mask(0x3, 32, 900), -EFAULT);
  kfd_ioctl_set_cu_mask_args null{.queue_id = id, .num_cu_mask = 32, .cu_mask_ptr = 0};
  EXPECT_EQ(client->call(AMDKFD_IOC_SET_CU_MASK, null), -EFAULT);
}

TEST_F(VirtualKfdQueue, OneQueueHasTheGlobalWaveSync) {
  uint32_t first = 0;
  uint32_t second = 0;
  ASSERT_EQ(create(compute(), &first), 0);
  ASSERT_EQ(create(compute(), &second), 0);
  const auto gws = [&](uint32_t queue, uint32_t count) {
    kfd_ioctl_alloc_queue_gws_args args{
        .queue_id = queue, .num_gws = count, .first_gws = 5, .pad = 0};
    return client->call(AMDKFD_IOC_ALLOC_QUEUE_GWS, args);
  };
  EXPECT_EQ(gws(first, 0), -EINVAL);
  EXPECT_EQ(gws(first, 64), 0);
  EXPECT_EQ(gws(second, 64), -EBUSY);
  EXPECT_EQ(gws(900, 64), -EINVAL);
  EXPECT_EQ(destroy(first), 0);
  EXPECT_EQ(gws(second, 64), 0) << "freed with its queue";
}

TEST_F(VirtualKfdQueue, RuntimeIsEnabledBeforeQueues) {
  kfd::abi::RuntimeEnableArgs args{
      .r_debug = 0, .mode_mask = kfd::abi::kRuntimeEnable, .capabilities_mask = 0};
  EXPECT_EQ(client->call(kfd::abi::kRuntimeEnableRequest, args), 0);
  EXPECT_EQ(client->call(kfd::abi::kRuntimeEnableRequest, args), -EBUSY);
  args.mode_mask = 0;
  EXPECT_EQ(client->call(kfd::abi::kRuntimeEnableRequest, args), 0);
  ASSERT_EQ(create(compute()), 0);
  args.mode_mask = kfd::abi::kRuntimeEnable;
  EXPECT_EQ(client->call(kfd::abi::kRuntimeEnableRequest, args), -EEXIST);
}

// Sizes that real clients use on the full GPU: tinygrad (August 2026) allocates and passes these.
TEST(QueueBufferSizes, AgreeWithClientsOfNavi31) {
  const auto profile = find_device_profile("gfx1100");
  ASSERT_TRUE(profile.has_value());
  const kfd::QueueBufferSizes sizes = profile->queue_buffers();
  EXPECT_EQ(sizes.control_stack_bytes, 0xa000u);
  EXPECT_EQ(sizes.context_save_restore_bytes, 0x2bea000u);
  EXPECT_EQ(sizes.eop_bytes, 0x1000u);
  EXPECT_EQ(sizes.context_save_area_bytes, 0x2c02000u);
}

}  // namespace
}  // namespace doppel::mock::testing
