// KfdDevice over an obliging driver: how it is opened, what each refusal becomes, and that nothing
// leaks on any path.
#include "backends/kfd/kfd_device.h"

#include <algorithm>

#include "tests/backends/kfd/scripted_kernel.h"

namespace doppel::kfd {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Return;

class KfdDeviceTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(kernel_->nothing_leaked()); }

  Result<std::unique_ptr<KfdDevice>> open(uint32_t index = 0) {
    DOPPEL_ASSIGN(auto process, KfdProcess::open(kernel_));
    return KfdDevice::open(std::move(process), index, "kfd:0");
  }

  std::shared_ptr<ScriptedKernel> kernel_ = std::make_shared<ScriptedKernel>();
};

TEST_F(KfdDeviceTest, DescribesItsNode) {
  const auto device = open();
  ASSERT_TRUE(device) << device.error().to_string();
  const DeviceInfo& info = (*device)->info();
  EXPECT_EQ(info.name, "kfd:0");
  EXPECT_EQ(info.target->name, "gfx1100");
  EXPECT_EQ(info.marketing_name, "AMD Radeon RX 7900 XTX");
  EXPECT_EQ(info.driver, "kfd 1.14, amdgpu 3.57.0");
  EXPECT_EQ(info.gpu_id, ScriptedKernel::kGpuId);
  EXPECT_EQ(info.pci_address, "0000:03:00.0");
  EXPECT_EQ(info.compute_units, 96u);
  EXPECT_EQ(info.shader_engines, 6u);
  EXPECT_EQ(info.lds_bytes, 65536u);
  EXPECT_EQ(info.vram_bytes, 25753026560u);
}

TEST_F(KfdDeviceTest, OpensTheRenderNodeOfItsProperties) {
  kernel_->files["nodes/1/properties"] += "drm_render_minor 133\n";
  EXPECT_CALL(*kernel_, open(_, _)).Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, open(::testing::StrEq("/dev/dri/renderD133"), _));
  EXPECT_TRUE(open());
}

TEST_F(KfdDeviceTest, MissingGpuSaysHowManyThereAre) {
  const auto device = open(3);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), StatusCode::NotFound);
  EXPECT_THAT(device.error().message(), HasSubstr("no GPU 3; the topology has 1"));
}

TEST_F(KfdDeviceTest, MachineWithoutGpuIsUnavailable) {
  kernel_->files.erase("nodes/1/gpu_id");
  const auto device = open();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), StatusCode::Unavailable);
}

TEST_F(KfdDeviceTest, UnknownTargetIsNamed) {
  kernel_->files["nodes/1/properties"] += "gfx_target_version 80003\n";
  const auto device = open();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), StatusCode::Unsupported);
  EXPECT_THAT(device.error().message(), HasSubstr("(gfx803)"));
}

/// Each driver call of opening refused in turn: an error that names it, and nothing left behind.
TEST_F(KfdDeviceTest, EveryRefusalWhileOpeningIsReported) {
  struct Case {
    unsigned long request;
    const char* name;
    int calls;  // how often opening makes it
  };
  const Case cases[] = {
      {AMDKFD_IOC_GET_VERSION, "GET_VERSION", 1},
      {AMDKFD_IOC_ACQUIRE_VM, "ACQUIRE_VM", 1},
      {AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, "ALLOC_MEMORY_OF_GPU", 2},
      {AMDKFD_IOC_MAP_MEMORY_TO_GPU, "MAP_MEMORY_TO_GPU", 2},
      {AMDKFD_IOC_CREATE_EVENT, "CREATE_EVENT", 2},
      {AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, "GET_PROCESS_APERTURES_NEW", 1},
      {AMDKFD_IOC_GET_CLOCK_COUNTERS, "GET_CLOCK_COUNTERS", 1},
  };
  for (const Case& test : cases) {
    for (int nth = 1; nth <= test.calls; ++nth) {
      kernel_ = std::make_shared<ScriptedKernel>();
      kernel_->fail(test.request, EIO, nth);
      const auto device = open();
      ASSERT_FALSE(device) << test.name << " " << nth;
      EXPECT_EQ(device.error().os_error(), EIO);
      EXPECT_THAT(device.error().message(), HasSubstr(test.name));
      EXPECT_TRUE(kernel_->nothing_leaked()) << test.name << " " << nth;
    }
  }
}

TEST_F(KfdDeviceTest, ForbiddenRenderNodeIsUnavailable) {
  EXPECT_CALL(*kernel_, open(_, _)).Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, open(::testing::StrEq("/dev/dri/renderD128"), _)).WillOnce(Return(-EACCES));
  const auto device = open();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), StatusCode::Unavailable);
  EXPECT_THAT(device.error().message(), HasSubstr("renderD128"));
}

TEST_F(KfdDeviceTest, UnreadableRenderNodeIsReported) {
  EXPECT_CALL(*kernel_, render_node_info(_)).WillOnce([](int) -> Result<RenderNodeInfo> {
    return error(StatusCode::System, "libdrm_amdgpu does not accept the render node.", EINVAL);
  });
  EXPECT_EQ(open().error().os_error(), EINVAL);
}

TEST_F(KfdDeviceTest, AperturesOfOtherGpusDoNotServe) {
  EXPECT_CALL(*kernel_, ioctl(_, _, _)).Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, _))
      .WillOnce([this](int, unsigned long request, void* argument) {
        const int result = kernel_->answer(request, argument);
        auto& args = *static_cast<kfd_ioctl_get_process_apertures_new_args*>(argument);
        reinterpret_cast<kfd_process_device_apertures*>(args.kfd_process_device_apertures_ptr)
            ->gpu_id = 99;
        return result;
      });
  EXPECT_THAT(open().error().message(), HasSubstr("no apertures for GPU 11"));
}

/// A driver without the remapped register page: the device opens, and flushes by a packet instead.
TEST_F(KfdDeviceTest, MissingRegisterPageIsTolerated) {
  EXPECT_CALL(*kernel_, ioctl(_, _, _)).Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, _))
      .WillRepeatedly([this](int, unsigned long request, void* argument) {
        const auto& args = *static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument);
        if ((args.flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) != 0) return -EINVAL;
        return kernel_->answer(request, argument);
      });
  const auto device = open();
  ASSERT_TRUE(device) << device.error().to_string();
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  EXPECT_EQ((*device)->flush_host_writes().error().code(), StatusCode::Deadlock)
      << "nobody runs the packet here";
}

TEST_F(KfdDeviceTest, ClockFitUsesBothCounters) {
  const auto device = open();
  ASSERT_TRUE(device);
  const auto fit = (*device)->clock_fit();
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->ns_per_tick, 10.0);
  EXPECT_EQ(fit->gpu_origin, 1'000'000u);
  EXPECT_EQ(fit->host_origin_ns, 10'000'000u);
  EXPECT_DOUBLE_EQ(fit->to_host_ns(1'000'100), 10'001'000.0);
  EXPECT_DOUBLE_EQ(fit->to_host_ns(999'900), 9'999'000.0) << "before the origin";
  EXPECT_DOUBLE_EQ(fit->duration_ns(100, 350), 2500.0);
}

TEST_F(KfdDeviceTest, ClockThatDriftsIsFitted) {
  const auto device = open();
  ASSERT_TRUE(device);
  EXPECT_CALL(*kernel_, ioctl(_, _, _)).Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_GET_CLOCK_COUNTERS, _))
      .WillOnce([](int, unsigned long, void* argument) {
        auto& args = *static_cast<kfd_ioctl_get_clock_counters_args*>(argument);
        args.gpu_clock_counter = 1'000'000 + 10'000'000;
        args.cpu_clock_counter = 10'000'000 + 101'000'000;
        return 0;
      });
  EXPECT_NEAR((*device)->clock_fit()->ns_per_tick, 10.1, 1e-9);
}

TEST_F(KfdDeviceTest, ForeignAndEmptyAllocationsAreRefused) {
  const auto device = open();
  ASSERT_TRUE(device);
  EXPECT_EQ((*device)->map(Allocation()).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ((*device)->unmap(Allocation()).error().code(), StatusCode::InvalidArgument);
}

/// KFD knows one address space per process and GPU: opening again must not acquire it again.
TEST_F(KfdDeviceTest, OpeningAgainSharesTheAddressSpace) {
  auto process = KfdProcess::open(kernel_);
  ASSERT_TRUE(process);
  auto first = KfdDevice::open(*process, 0, "kfd:0");
  ASSERT_TRUE(first);
  const auto kept = (*first)->allocate(4096);
  ASSERT_TRUE(kept);
  auto second = KfdDevice::open(*process, 0, "kfd:0");
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(std::ranges::count(kernel_->calls, AMDKFD_IOC_ACQUIRE_VM), 1);
  EXPECT_TRUE((*second)->close()) << "what the first device's users hold is not the second's leak";
  EXPECT_FALSE((*first)->close());
  first->reset();
  EXPECT_TRUE(KfdDevice::open(*process, 0, "kfd:0"));
  EXPECT_EQ(std::ranges::count(kernel_->calls, AMDKFD_IOC_ACQUIRE_VM), 1);
}

TEST_F(KfdDeviceTest, CloseCountsWhatIsStillAlive) {
  auto device = open();
  ASSERT_TRUE(device);
  auto memory = (*device)->allocate(5000);
  auto signal = (*device)->create_signal();
  auto queue = (*device)->create_queue({.kind = QueueKind::Sdma});
  ASSERT_TRUE(memory && signal && queue) << queue.error().to_string();
  const auto closed = (*device)->close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message(),
              HasSubstr("1 allocations (8192 bytes), 1 signals and 1 queues"));
  EXPECT_TRUE((*device)->close()) << "closing twice is harmless";
  for (const Status& status :
       {(*device)->allocate(1).error(), (*device)->create_signal().error(),
        (*device)->create_queue({}).error(), (*device)->synchronize().error(),
        (*device)->default_queue(QueueKind::Pm4).error()}) {
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
  }
}

}  // namespace
}  // namespace doppel::kfd
