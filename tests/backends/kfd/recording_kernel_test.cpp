#include "backends/kfd/recording_kernel.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/kfd/kfd_abi.h"
#include "tests/backends/kfd/mock_kernel_abi.h"

namespace doppel::kfd {
namespace {

using ::testing::_;
using ::testing::NiceMock;
using ::testing::Return;

class RecordingKernelTest : public ::testing::Test {
 protected:
  nlohmann::json next_line() {
    std::string line;
    std::getline(log_, line);
    return nlohmann::json::parse(line);
  }

  std::shared_ptr<NiceMock<MockKernelAbi>> kernel_ = std::make_shared<NiceMock<MockKernelAbi>>();
  std::stringstream log_;
  RecordingKernel recording_{kernel_, log_};
};

TEST_F(RecordingKernelTest, IoctlIsLoggedBeforeAndAfter) {
  EXPECT_CALL(*kernel_, ioctl(5, AMDKFD_IOC_MAP_MEMORY_TO_GPU, _))
      .WillOnce([](int, unsigned long, void* argument) {
        static_cast<kfd_ioctl_map_memory_to_gpu_args*>(argument)->n_success = 2;
        return 0;
      });
  const uint32_t gpus[] = {11, 22};
  kfd_ioctl_map_memory_to_gpu_args args{};
  args.handle = 0x1'0000'0002;
  args.device_ids_array_ptr = reinterpret_cast<uint64_t>(gpus);
  args.n_devices = 2;
  EXPECT_EQ(recording_.ioctl(5, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args), 0);
  EXPECT_EQ(args.n_success, 2u);

  const auto line = next_line();
  EXPECT_EQ(line["name"], "MAP_MEMORY_TO_GPU");
  EXPECT_EQ(line["number"], 0x18);
  EXPECT_EQ(line["in"][0], "0x2");
  EXPECT_EQ(line["in"][1], "0x1");
  EXPECT_EQ(line["in"][5], "0x0");
  EXPECT_EQ(line["out"][5], "0x2");
  EXPECT_EQ(line["gpus"], (std::vector<int>{11, 22}));
  EXPECT_EQ(line["rc"], 0);
}

TEST_F(RecordingKernelTest, NullArgumentIsRecordedNotRead) {
  EXPECT_CALL(*kernel_, ioctl(5, AMDKFD_IOC_MAP_MEMORY_TO_GPU, nullptr)).WillOnce(Return(-EFAULT));
  EXPECT_EQ(recording_.ioctl(5, AMDKFD_IOC_MAP_MEMORY_TO_GPU, nullptr), -EFAULT);
  const auto line = next_line();
  EXPECT_TRUE(line["in"].empty());
  EXPECT_EQ(line["rc"], -EFAULT);
}

TEST_F(RecordingKernelTest, MappingsAndFilesAreLogged) {
  EXPECT_CALL(*kernel_, mmap(_, 4096, _, _, 5, 0x8000, _))
      .WillOnce([](void*, size_t, int, int, int, uint64_t, int* os_error) -> void* {
        *os_error = ENOMEM;
        return nullptr;
      });
  EXPECT_CALL(*kernel_, read_file("/sys/x")).WillOnce([](const std::string&) {
    return Result<std::string>("7\n");
  });
  int os_error = 0;
  EXPECT_EQ(recording_.mmap(nullptr, 4096, 3, 1, 5, 0x8000, &os_error), nullptr);
  EXPECT_EQ(os_error, ENOMEM);
  EXPECT_TRUE(recording_.read_file("/sys/x"));

  const auto mapping = next_line();
  EXPECT_EQ(mapping["offset"], "0x8000");
  EXPECT_EQ(mapping["errno"], ENOMEM);
  const auto file = next_line();
  EXPECT_EQ(file["text"], "7\n");
  EXPECT_EQ(file["ok"], true);
}

}  // namespace
}  // namespace doppel::kfd
