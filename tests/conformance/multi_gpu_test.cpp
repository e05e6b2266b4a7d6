// Several GPUs of one machine: peer access, signals across devices. Skipped where there is but one.
#include "tests/conformance/conformance.h"
#include "tests/paths.h"

namespace doppel::conformance {
namespace {

class MultiGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto devices = open_devices(settings().device);
    ASSERT_TRUE(devices) << devices.error().to_string();
    devices_ = *std::move(devices);
    if (devices_.size() < 2) GTEST_SKIP() << settings().device << " is one GPU";
  }
  void TearDown() override {
    for (const auto& device : devices_) EXPECT_OK(device->close());
  }
  Device& gpu(size_t index) { return *devices_[index]; }

  std::vector<std::unique_ptr<Device>> devices_;
};

TEST_F(MultiGpuTest, DevicesAreDistinct) {
  EXPECT_NE(gpu(0).info().gpu_id, gpu(1).info().gpu_id);
  EXPECT_NE(gpu(0).info().pci_address, gpu(1).info().pci_address);
}

TEST_F(MultiGpuTest, PeerMemoryIsCopiedOnceMapped) {
  const auto data = pattern(5000);
  const Allocation mine = gpu(0).allocate(20000).value();
  const Allocation theirs = gpu(1).allocate(20000).value();
  EXPECT_OK(gpu(0).write(mine, data));
  EXPECT_OK(gpu(1).map(mine));
  EXPECT_OK(gpu(1).sdma().copy(mine, theirs).submit());
  EXPECT_OK(gpu(1).synchronize());
  EXPECT_EQ(gpu(1).read<uint32_t>(theirs).value(), data);
  EXPECT_OK(gpu(1).unmap(mine));
  EXPECT_FALSE(gpu(1).unmap(mine));
}

TEST_F(MultiGpuTest, SignalsOrderQueuesOfTwoDevices) {
  const auto data = pattern(1000);
  const Allocation shared = gpu(0).allocate(4000, {.domain = MemoryDomain::Gtt}).value();
  const Allocation source = gpu(0).allocate(4000).value();
  const Allocation end = gpu(1).allocate(4000).value();
  EXPECT_OK(gpu(0).write(source, data));
  EXPECT_OK(gpu(1).map(shared));
  const Signal ready = gpu(0).create_signal().value();
  EXPECT_OK(gpu(1).sdma().wait(ready, 1).copy(shared, end).signal(ready, 2).submit());
  EXPECT_OK(gpu(0).sdma().copy(source, shared).signal(ready, 1).submit());
  EXPECT_OK(ready.wait(2));
  EXPECT_EQ(gpu(1).read<uint32_t>(end).value(), data);
}

TEST_F(MultiGpuTest, KernelsBelongToTheirDevice) {
  const auto path = test::kernel_file("empty." + std::string(gpu(0).target().name) + ".co");
  const auto program = gpu(0).load_program(path);
  ASSERT_OK(program);
  EXPECT_ERROR(gpu(1).compute().exec(program->kernel("empty"), args(), 1, 1).submit(),
               StatusCode::InvalidArgument, "another device");
}

}  // namespace
}  // namespace doppel::conformance
