// ScriptedKernel: a MockKernelAbi whose defaults are those of an obliging driver without a GPU
// behind it: allocations and mappings are anonymous memory, every ioctl succeeds, the clock
// advances with each look at it. Tests override one call to see what the runtime makes of a
// failure.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "backends/kfd/kfd_abi.h"
#include "tests/backends/kfd/mock_kernel_abi.h"

namespace doppel::kfd {

class ScriptedKernel : public ::testing::NiceMock<MockKernelAbi> {
 public:
  static constexpr int kKfdFd = 100;
  static constexpr int kRenderFd = 101;
  static constexpr uint64_t kTickNs = 10'000;  // between two looks at the clock

  ScriptedKernel() {
    using ::testing::_;
    ON_CALL(*this, now_ns).WillByDefault([this] { return now_ += kTickNs; });
    ON_CALL(*this, open).WillByDefault([this](const char* path, int) {
      const int fd = std::string_view(path) == "/dev/kfd" ? kKfdFd : kRenderFd + opened_++;
      fds.insert(fd);
      return fd;
    });
    ON_CALL(*this, close).WillByDefault([this](int fd) { return fds.erase(fd) ? 0 : -EBADF; });
    ON_CALL(*this, mmap)
        .WillByDefault([this](void* address, size_t length, int protection, int flags, int fd,
                              uint64_t, int* os_error) -> void* {
          if (fd >= 0) flags = MAP_PRIVATE | MAP_ANONYMOUS | (flags & MAP_FIXED);
          void* result = ::mmap(address, length, protection, flags, -1, 0);
          if (result == MAP_FAILED) {
            *os_error = errno;
            return nullptr;
          }
          mappings[result] = length;
          return result;
        });
    ON_CALL(*this, munmap).WillByDefault([this](void* address, size_t length) {
      EXPECT_EQ(mappings[address], length) << "unmapped in another size than mapped";
      mappings.erase(address);
      return ::munmap(address, length) == 0 ? 0 : -errno;
    });
    ON_CALL(*this, relax).WillByDefault(::testing::Return(Relax::Again));
    ON_CALL(*this, ioctl).WillByDefault([this](int, unsigned long request, void* argument) {
      return answer(request, argument);
    });
  }

  /// The obliging answer; an override may fall back on it.
  int answer(unsigned long request, void* argument) {
    calls.push_back(request);
    switch (request) {
      case AMDKFD_IOC_GET_VERSION:
        *static_cast<kfd_ioctl_get_version_args*>(argument) = {1, 14};
        return 0;
      case AMDKFD_IOC_ALLOC_MEMORY_OF_GPU: {
        auto& args = *static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument);
        args.handle = ++last_handle_;
        last_alloc = args;
        live_handles.insert(args.handle);
        if ((args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) == 0) args.mmap_offset = 0x10000;
        return 0;
      }
      case AMDKFD_IOC_FREE_MEMORY_OF_GPU:
        return live_handles.erase(static_cast<kfd_ioctl_free_memory_of_gpu_args*>(argument)->handle)
                   ? 0
                   : -EINVAL;
      case AMDKFD_IOC_MAP_MEMORY_TO_GPU: {
        auto& args = *static_cast<kfd_ioctl_map_memory_to_gpu_args*>(argument);
        args.n_success = args.n_devices;
        return 0;
      }
      case AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU: {
        auto& args = *static_cast<kfd_ioctl_unmap_memory_from_gpu_args*>(argument);
        unmapped_gpus += args.n_devices;
        args.n_success = args.n_devices;
        return 0;
      }
      case AMDKFD_IOC_CREATE_EVENT: {
        auto& args = *static_cast<kfd_ioctl_create_event_args*>(argument);
        event_pages.push_back(args.event_page_offset);
        args.event_id = ++last_event_;
        args.event_slot_index = last_event_;
        live_events.insert(args.event_id);
        return 0;
      }
      case AMDKFD_IOC_DESTROY_EVENT:
        return live_events.erase(static_cast<kfd_ioctl_destroy_event_args*>(argument)->event_id)
                   ? 0
                   : -EINVAL;
      case AMDKFD_IOC_WAIT_EVENTS: {
        auto& args = *static_cast<kfd_ioctl_wait_events_args*>(argument);
        now_ += uint64_t{args.timeout} * 1'000'000;
        args.wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
        return 0;
      }
      default:
        return 0;
    }
  }

  /// From the nth call of `request` on (counted from 1), answers -os_error, `times` times.
  void fail(unsigned long request, int os_error, int nth = 1, int times = 1) {
    using ::testing::_;
    auto count = std::make_shared<int>(0);
    EXPECT_CALL(*this, ioctl(_, ::testing::Ne(request), _)).Times(::testing::AnyNumber());
    EXPECT_CALL(*this, ioctl(_, request, _))
        .Times(::testing::AtLeast(1))
        .WillRepeatedly([=, this](int, unsigned long number, void* argument) {
          ++*count;
          if (*count >= nth && *count < nth + times) return -os_error;
          return answer(number, argument);
        });
  }

  bool nothing_leaked() const {
    return live_handles.empty() && live_events.empty() && mappings.empty() && fds.empty();
  }

  std::vector<unsigned long> calls;
  std::set<uint64_t> live_handles;
  std::set<uint32_t> live_events;
  std::map<void*, size_t> mappings;
  std::set<int> fds;
  std::vector<uint64_t> event_pages;
  uint32_t unmapped_gpus = 0;
  kfd_ioctl_alloc_memory_of_gpu_args last_alloc{};

 private:
  uint64_t now_ = 0;
  int opened_ = 0;
  uint64_t last_handle_ = 0x1000;
  uint32_t last_event_ = 0;
};

}  // namespace doppel::kfd
