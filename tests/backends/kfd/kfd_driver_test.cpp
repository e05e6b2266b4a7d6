#include "backends/kfd/kfd_driver.h"

#include <cerrno>

#include "tests/backends/kfd/mock_kernel_abi.h"

namespace doppel::kfd {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Return;

constexpr int kFd = 7;

auto version(uint32_t major, uint32_t minor) {
  return [=](int, unsigned long, void* argument) {
    *static_cast<kfd_ioctl_get_version_args*>(argument) = {major, minor};
    return 0;
  };
}

class KfdDriverTest : public ::testing::Test {
 protected:
  void expect_healthy_open() {
    EXPECT_CALL(*kernel_, open(::testing::StrEq("/dev/kfd"), _)).WillOnce(Return(kFd));
    EXPECT_CALL(*kernel_, ioctl(kFd, AMDKFD_IOC_GET_VERSION, _)).WillOnce(version(1, 14));
    EXPECT_CALL(*kernel_, close(kFd)).WillOnce(Return(0));
  }

  std::shared_ptr<NiceMock<MockKernelAbi>> kernel_ = std::make_shared<NiceMock<MockKernelAbi>>();
};

TEST_F(KfdDriverTest, OpensAndReadsTheVersion) {
  expect_healthy_open();
  const auto driver = KfdDriver::open(kernel_);
  ASSERT_TRUE(driver) << driver.error().to_string();
  EXPECT_EQ((*driver)->version_major(), 1u);
  EXPECT_EQ((*driver)->version_minor(), 14u);
}

TEST_F(KfdDriverTest, MissingNodeIsUnavailable) {
  EXPECT_CALL(*kernel_, open(_, _)).WillOnce(Return(-ENOENT));
  const auto driver = KfdDriver::open(kernel_);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code(), StatusCode::Unavailable);
  EXPECT_THAT(driver.error().message(), HasSubstr("There is no /dev/kfd"));
}

TEST_F(KfdDriverTest, ForbiddenNodeNamesTheGroup) {
  EXPECT_CALL(*kernel_, open(_, _)).WillOnce(Return(-EACCES));
  const auto driver = KfdDriver::open(kernel_);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().os_error(), EACCES);
  EXPECT_THAT(driver.error().message(), HasSubstr("render"));
}

TEST_F(KfdDriverTest, InterruptedOpenIsRestarted) {
  EXPECT_CALL(*kernel_, open(_, _)).WillOnce(Return(-EINTR)).WillOnce(Return(kFd));
  EXPECT_CALL(*kernel_, ioctl(_, _, _)).WillOnce(version(1, 11));
  EXPECT_TRUE(KfdDriver::open(kernel_));
}

TEST_F(KfdDriverTest, OtherMajorVersionIsRefusedAndClosed) {
  EXPECT_CALL(*kernel_, open(_, _)).WillOnce(Return(kFd));
  EXPECT_CALL(*kernel_, ioctl(_, _, _)).WillOnce(version(2, 0));
  EXPECT_CALL(*kernel_, close(kFd)).WillOnce(Return(0));
  const auto driver = KfdDriver::open(kernel_);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code(), StatusCode::Unsupported);
  EXPECT_THAT(driver.error().message(), HasSubstr("(2.0)"));
}

TEST_F(KfdDriverTest, InterruptedIoctlIsRestarted) {
  expect_healthy_open();
  const auto driver = KfdDriver::open(kernel_);
  ASSERT_TRUE(driver);
  EXPECT_CALL(*kernel_, ioctl(kFd, AMDKFD_IOC_SET_EVENT, _))
      .WillOnce(Return(-EINTR))
      .WillOnce(Return(-EAGAIN))
      .WillOnce(Return(0));
  kfd_ioctl_set_event_args args{};
  EXPECT_TRUE((*driver)->call(AMDKFD_IOC_SET_EVENT, args, "set an event"));
}

TEST_F(KfdDriverTest, ErrnoBecomesAStatusThatNamesTheIoctl) {
  expect_healthy_open();
  const auto driver = KfdDriver::open(kernel_);
  ASSERT_TRUE(driver);
  const std::pair<int, StatusCode> cases[] = {
      {EINVAL, StatusCode::InvalidArgument}, {ENOMEM, StatusCode::OutOfMemory},
      {ENOTTY, StatusCode::Unsupported},     {ENODEV, StatusCode::Unavailable},
      {ENOSPC, StatusCode::Exhausted},       {EIO, StatusCode::System},
  };
  for (const auto& [os_error, code] : cases) {
    EXPECT_CALL(*kernel_, ioctl(kFd, AMDKFD_IOC_DESTROY_QUEUE, _)).WillOnce(Return(-os_error));
    kfd_ioctl_destroy_queue_args args{};
    const auto result = (*driver)->call(AMDKFD_IOC_DESTROY_QUEUE, args, "destroy the queue");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code);
    EXPECT_EQ(result.error().os_error(), os_error);
    EXPECT_EQ(result.error().message(), "The driver refuses to destroy the queue (DESTROY_QUEUE).");
  }
}

}  // namespace
}  // namespace doppel::kfd
