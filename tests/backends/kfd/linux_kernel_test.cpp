// LinuxKernel on this machine's kernel: what works without a GPU, and how the rest fails.
#include "backends/kfd/linux_kernel.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "backends/kfd/kfd_abi.h"

namespace doppel::kfd {
namespace {

using ::testing::ElementsAre;

class LinuxKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("linux_kernel_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  LinuxKernel kernel_;
  std::filesystem::path folder_;
};

TEST_F(LinuxKernelTest, ErrorsAreNegativeErrno) {
  EXPECT_EQ(kernel_.open(path("absent").c_str(), O_RDWR), -ENOENT);
  EXPECT_EQ(kernel_.close(-1), -EBADF);
  kfd_ioctl_get_version_args args{};
  EXPECT_EQ(kernel_.ioctl(-1, AMDKFD_IOC_GET_VERSION, &args), -EBADF);
  EXPECT_EQ(kernel_.munmap(reinterpret_cast<void*>(1), 4096), -EINVAL);
}

TEST_F(LinuxKernelTest, AnotherDevicesAnswerIsEnotty) {
  const int fd = kernel_.open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  kfd_ioctl_get_version_args args{};
  EXPECT_EQ(kernel_.ioctl(fd, AMDKFD_IOC_GET_VERSION, &args), -ENOTTY);
  EXPECT_FALSE(kernel_.render_node_info(fd)) << "/dev/null is no render node";
  EXPECT_EQ(kernel_.close(fd), 0);
}

TEST_F(LinuxKernelTest, MapsAnonymousMemoryAndFiles) {
  int os_error = 0;
  void* memory = kernel_.mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              -1, 0, &os_error);
  ASSERT_NE(memory, nullptr);
  static_cast<char*>(memory)[8191] = 1;
  EXPECT_EQ(kernel_.munmap(memory, 8192), 0);
  EXPECT_EQ(kernel_.mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &os_error),
            nullptr);
  EXPECT_EQ(os_error, EINVAL);
}

TEST_F(LinuxKernelTest, ReadsWholeFiles) {
  const std::string text(10000, 'x');
  std::ofstream(path("long")) << text;
  std::ofstream(path("empty")).flush();
  EXPECT_EQ(kernel_.read_file(path("long")).value(), text);
  EXPECT_EQ(kernel_.read_file(path("empty")).value(), "");
  const auto absent = kernel_.read_file(path("absent"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), StatusCode::NotFound);
  EXPECT_EQ(absent.error().os_error(), ENOENT);
  EXPECT_EQ(kernel_.read_file(folder_.string()).error().os_error(), EISDIR);
}

TEST_F(LinuxKernelTest, ListsFoldersInOrder) {
  for (const char* name : {"b", "a", "10", "2"}) std::ofstream(path(name)).flush();
  EXPECT_THAT(kernel_.list_dir(folder_.string()).value(), ElementsAre("10", "2", "a", "b"));
  EXPECT_EQ(kernel_.list_dir(path("absent")).error().code(), StatusCode::NotFound);
}

TEST_F(LinuxKernelTest, ClockNeverGoesBackAndRelaxNeverStalls) {
  const uint64_t before = kernel_.now_ns();
  EXPECT_EQ(kernel_.relax(), Relax::Again);
  EXPECT_GE(kernel_.now_ns(), before);
  EXPECT_EQ(kernel_.stall_report(), "");
  EXPECT_EQ(kernel_.fault_report(), "");
}

}  // namespace
}  // namespace doppel::kfd
