#include "backends/kfd/kfd_memory.h"

#include "tests/backends/kfd/scripted_kernel.h"

namespace doppel::kfd {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Return;

class KfdMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_ = KfdDriver::open(kernel_).value();
    memory_ = open(11);
  }
  void TearDown() override {
    memory_.reset();
    driver_.reset();
    EXPECT_TRUE(kernel_->nothing_leaked());
  }

  std::shared_ptr<KfdMemory> open(uint32_t gpu_id) {
    return KfdMemory::open(driver_, Descriptor::open(kernel_, "/dev/dri/renderD128").value(),
                           gpu_id)
        .value();
  }

  std::shared_ptr<ScriptedKernel> kernel_ = std::make_shared<ScriptedKernel>();
  std::shared_ptr<KfdDriver> driver_;
  std::shared_ptr<KfdMemory> memory_;
};

TEST_F(KfdMemoryTest, FlagsSayWhatIsAskedFor) {
  struct Case {
    AllocationOptions options;
    uint32_t flags;
  };
  const uint32_t always = KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
  const Case cases[] = {
      {{}, always | KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE},
      {{.cpu_visible = true, .writable = false, .executable = true},
       always | KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC |
           KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE},
      // Flags that unmodified clients send for rings and signals: 0xd6000002, here without the
      // executable bit and with the host's view.
      {{.domain = MemoryDomain::Gtt, .coherent = true, .uncached = true}, 0xb6000002},
      {{.domain = MemoryDomain::Host},
       always | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
           KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC},
  };
  for (const Case& test : cases) {
    const auto allocation = memory_->allocate(5000, test.options);
    ASSERT_TRUE(allocation) << allocation.error().to_string();
    EXPECT_EQ(kernel_->last_alloc.flags, test.flags);
    EXPECT_EQ(kernel_->last_alloc.size, 8192u);
    EXPECT_EQ(kernel_->last_alloc.gpu_id, 11u);
    EXPECT_EQ(kernel_->last_alloc.va_addr, allocation->gpu_address());
    EXPECT_EQ(allocation->size(), 5000u);
  }
}

TEST_F(KfdMemoryTest, CpuSeesWhatItMay) {
  const auto hidden = memory_->allocate(4096, {});
  const auto visible = memory_->allocate(4096, {.cpu_visible = true});
  const auto gtt = memory_->allocate(4096, {.domain = MemoryDomain::Gtt});
  const auto host = memory_->allocate(4096, {.domain = MemoryDomain::Host});
  ASSERT_TRUE(hidden && visible && gtt && host);
  EXPECT_EQ(hidden->host(), nullptr);
  EXPECT_TRUE(hidden->host_as<int>().empty());
  for (const auto* allocation : {&*visible, &*gtt, &*host}) {
    ASSERT_NE(allocation->host(), nullptr);
    allocation->host_as<uint32_t>()[1023] = 7;
    EXPECT_EQ(reinterpret_cast<uint64_t>(allocation->host()), allocation->gpu_address());
  }
}

TEST_F(KfdMemoryTest, AdoptedHostMemoryStaysTheCallers) {
  alignas(kPageBytes) static std::byte mine[kPageBytes];
  auto pinned = memory_->allocate(kPageBytes, {.domain = MemoryDomain::Host, .host_pointer = mine});
  ASSERT_TRUE(pinned) << pinned.error().to_string();
  EXPECT_EQ(pinned->host(), mine);
  EXPECT_EQ(kernel_->last_alloc.mmap_offset, reinterpret_cast<uint64_t>(mine));
  EXPECT_TRUE(pinned->release());
  mine[0] = std::byte{1};  // still mapped
}

TEST_F(KfdMemoryTest, ImpossibleRequestsNeverReachTheDriver) {
  static std::byte mine[16];
  const auto before = kernel_->calls.size();
  EXPECT_EQ(memory_->allocate(0, {}).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(memory_->allocate(~uint64_t{0}, {}).error().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(memory_->allocate(16, {.host_pointer = mine}).error().message(), HasSubstr("(vram)"));
  EXPECT_THAT(memory_->allocate(8, {.domain = MemoryDomain::Host, .host_pointer = mine + 1})
                  .error()
                  .message(),
              HasSubstr("not page aligned"));
  EXPECT_EQ(kernel_->calls.size(), before);
}

TEST_F(KfdMemoryTest, OutOfMemoryReleasesTheReservation) {
  kernel_->fail(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, ENOMEM);
  const auto allocation = memory_->allocate(1 << 20, {});
  ASSERT_FALSE(allocation);
  EXPECT_EQ(allocation.error().code(), StatusCode::OutOfMemory);
  EXPECT_THAT(allocation.error().message(), HasSubstr("allocate 1048576 bytes of vram"));
  EXPECT_TRUE(kernel_->mappings.empty());
  // The next one works.
  EXPECT_TRUE(memory_->allocate(4096, {}));
}

TEST_F(KfdMemoryTest, NoAddressSpaceIsOutOfMemory) {
  EXPECT_CALL(*kernel_, mmap(_, _, _, _, _, _, _))
      .WillOnce([](void*, size_t, int, int, int, uint64_t, int* os_error) -> void* {
        *os_error = ENOMEM;
        return nullptr;
      });
  const auto allocation = memory_->allocate(4096, {});
  ASSERT_FALSE(allocation);
  EXPECT_EQ(allocation.error().code(), StatusCode::OutOfMemory);
  EXPECT_TRUE(kernel_->live_handles.empty());
}

TEST_F(KfdMemoryTest, FailedCpuMappingFreesTheMemory) {
  EXPECT_CALL(*kernel_, mmap(_, _, _, _, -1, _, _)).Times(1);
  EXPECT_CALL(*kernel_, mmap(_, _, _, _, ScriptedKernel::kRenderFd, _, _))
      .WillOnce([](void*, size_t, int, int, int, uint64_t, int* os_error) -> void* {
        *os_error = EACCES;
        return nullptr;
      });
  const auto allocation = memory_->allocate(4096, {.cpu_visible = true});
  ASSERT_FALSE(allocation);
  EXPECT_EQ(allocation.error().os_error(), EACCES);
  EXPECT_TRUE(kernel_->live_handles.empty());
  EXPECT_TRUE(kernel_->mappings.empty());
}

TEST_F(KfdMemoryTest, FailedGpuMappingFreesEverything) {
  kernel_->fail(AMDKFD_IOC_MAP_MEMORY_TO_GPU, ENOMEM);
  const auto allocation = memory_->allocate(4096, {});
  ASSERT_FALSE(allocation);
  EXPECT_EQ(allocation.error().code(), StatusCode::OutOfMemory);
  EXPECT_THAT(allocation.error().message(), HasSubstr("0 of 1 GPUs; GPU 11 fails"));
  EXPECT_EQ(kernel_->unmapped_gpus, 0u);
  EXPECT_TRUE(kernel_->live_handles.empty());
}

/// The driver may map some GPUs and then fail: what it has done must be undone.
TEST_F(KfdMemoryTest, PartialMappingIsUndone) {
  EXPECT_CALL(*kernel_, ioctl(_, ::testing::Ne(AMDKFD_IOC_MAP_MEMORY_TO_GPU), _))
      .Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_MAP_MEMORY_TO_GPU, _))
      .WillOnce([](int, unsigned long, void* argument) {
        static_cast<kfd_ioctl_map_memory_to_gpu_args*>(argument)->n_success = 1;
        return -EFAULT;  // after the last device was mapped, copying n_success back failed
      });
  const auto allocation = memory_->allocate(4096, {});
  ASSERT_FALSE(allocation);
  EXPECT_EQ(kernel_->unmapped_gpus, 1u);
  EXPECT_TRUE(kernel_->live_handles.empty());
}

TEST_F(KfdMemoryTest, SilentlyUnmappedGpuIsAnError) {
  EXPECT_CALL(*kernel_, ioctl(_, ::testing::Ne(AMDKFD_IOC_MAP_MEMORY_TO_GPU), _))
      .Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_MAP_MEMORY_TO_GPU, _)).WillOnce(Return(0));
  const auto allocation = memory_->allocate(4096, {});
  ASSERT_FALSE(allocation);
  EXPECT_EQ(allocation.error().code(), StatusCode::System);
}

TEST_F(KfdMemoryTest, InterruptedMappingGoesOnWhereItStopped) {
  EXPECT_CALL(*kernel_, ioctl(_, ::testing::Ne(AMDKFD_IOC_MAP_MEMORY_TO_GPU), _))
      .Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_MAP_MEMORY_TO_GPU, _))
      .WillOnce(Return(-EINTR))
      .WillOnce([this](int, unsigned long request, void* argument) {
        return kernel_->answer(request, argument);
      });
  EXPECT_TRUE(memory_->allocate(4096, {}));
}

TEST_F(KfdMemoryTest, ReleaseTellsTheFirstFailureAndFinishes) {
  auto allocation = memory_->allocate(4096, {});
  ASSERT_TRUE(allocation);
  kernel_->fail(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, EIO);
  const auto result = allocation->release();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().os_error(), EIO);
  EXPECT_TRUE(kernel_->live_handles.empty()) << "FREE must follow a failed UNMAP";
  EXPECT_FALSE(*allocation);
  EXPECT_EQ(allocation->release().error().code(), StatusCode::InvalidArgument);
}

TEST_F(KfdMemoryTest, FailedFreeIsReported) {
  auto allocation = memory_->allocate(4096, {});
  ASSERT_TRUE(allocation);
  kernel_->fail(AMDKFD_IOC_FREE_MEMORY_OF_GPU, EBUSY);
  EXPECT_EQ(allocation->release().error().os_error(), EBUSY);
  kernel_->live_handles.clear();
}

TEST_F(KfdMemoryTest, AnotherGpuMapsAndUnmaps) {
  const auto other = open(22);
  auto allocation = memory_->allocate(4096, {});
  ASSERT_TRUE(allocation);
  const auto& state = static_cast<const KfdAllocation&>(*allocation->state());
  EXPECT_EQ(other->unmap(state).error().code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(other->map(state));
  EXPECT_TRUE(other->map(state)) << "mapping twice is harmless";
  EXPECT_TRUE(other->unmap(state));
  EXPECT_EQ(kernel_->unmapped_gpus, 1u);
  EXPECT_TRUE(other->map(state));
  EXPECT_TRUE(allocation->release());
  EXPECT_EQ(kernel_->unmapped_gpus, 3u) << "release unmaps both GPUs";
}

TEST_F(KfdMemoryTest, AllocationOutlivesItsDevice) {
  auto allocation = memory_->allocate(4096, {.domain = MemoryDomain::Gtt});
  ASSERT_TRUE(allocation);
  memory_.reset();
  driver_.reset();
  EXPECT_FALSE(kernel_->fds.empty()) << "the allocation keeps the driver open";
  allocation->host_as<int>()[0] = 1;
  EXPECT_TRUE(allocation->release());
}

TEST_F(KfdMemoryTest, LedgerCountsWhatIsAlive) {
  const auto ledger = std::make_shared<MemoryLedger>();
  {
    const AllocationOwner owner{.ledger = ledger};
    const auto one = memory_->allocate(1, {}, owner);
    const auto two = memory_->allocate(4097, {}, owner);
    const auto internal = memory_->allocate(4097, {});
    EXPECT_EQ(ledger->count, 2u);
    EXPECT_EQ(ledger->bytes, 3 * kPageBytes);
  }
  EXPECT_EQ(ledger->count, 0u);
  EXPECT_EQ(ledger->bytes, 0u);
}

TEST_F(KfdMemoryTest, RefusedVmNamesTheGpu) {
  kernel_->fail(AMDKFD_IOC_ACQUIRE_VM, EBUSY);
  const auto memory =
      KfdMemory::open(driver_, Descriptor::open(kernel_, "/dev/dri/renderD129").value(), 4711);
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().message(), HasSubstr("GPU 4711"));
}

}  // namespace
}  // namespace doppel::kfd
