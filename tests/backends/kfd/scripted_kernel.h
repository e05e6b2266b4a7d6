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
  static constexpr uint32_t kGpuId = 11;
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
    ON_CALL(*this, read_file).WillByDefault([this](const std::string& path) { return read(path); });
    ON_CALL(*this, list_dir).WillByDefault([this](const std::string& path) { return list(path); });
    ON_CALL(*this, render_node_info).WillByDefault([](int) -> Result<RenderNodeInfo> {
      return RenderNodeInfo{.driver_name = "amdgpu",
                            .driver_major = 3,
                            .driver_minor = 57,
                            .marketing_name = "AMD Radeon RX 7900 XTX"};
    });
    files["generation_id"] = "2\n";
    files["nodes/0/gpu_id"] = "0\n";
    files["nodes/0/properties"] = "cpu_cores_count 16\n";
    add_gpu(1, kGpuId);
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
      case AMDKFD_IOC_GET_PROCESS_APERTURES_NEW: {
        auto& args = *static_cast<kfd_ioctl_get_process_apertures_new_args*>(argument);
        auto* nodes =
            reinterpret_cast<kfd_process_device_apertures*>(args.kfd_process_device_apertures_ptr);
        nodes[0] = {};
        nodes[0].gpu_id = kGpuId;
        nodes[0].lds_base = 0x1'0000'0000'0000;
        nodes[0].scratch_base = 0x2'0000'0000'0000;
        args.num_of_nodes = 1;
        return 0;
      }
      case AMDKFD_IOC_GET_CLOCK_COUNTERS: {
        auto& args = *static_cast<kfd_ioctl_get_clock_counters_args*>(argument);
        gpu_ticks += 1'000'000;
        args.gpu_clock_counter = gpu_ticks;
        args.cpu_clock_counter = gpu_ticks * 10;
        return 0;
      }
      case AMDKFD_IOC_CREATE_QUEUE: {
        auto& args = *static_cast<kfd_ioctl_create_queue_args*>(argument);
        args.queue_id = ++last_queue_;
        args.doorbell_offset = (uint64_t{3} << 62) | last_queue_ * sizeof(uint64_t);
        last_queue = args;
        live_queues.insert(args.queue_id);
        return 0;
      }
      case AMDKFD_IOC_DESTROY_QUEUE:
        return live_queues.erase(static_cast<kfd_ioctl_destroy_queue_args*>(argument)->queue_id)
                   ? 0
                   : -EINVAL;
      default:
        return 0;
    }
  }

  static constexpr const char* kTopology = "/sys/devices/virtual/kfd/kfd/topology/";

  /// An RX 7900 XTX in the topology.
  void add_gpu(uint32_t node, uint32_t gpu_id) {
    const std::string path = "nodes/" + std::to_string(node);
    files[path + "/gpu_id"] = std::to_string(gpu_id) + "\n";
    files[path + "/name"] = "gfx1100\n";
    files[path + "/properties"] =
        "simd_count 192\nsimd_per_cu 2\narray_count 12\nsimd_arrays_per_engine 2\n"
        "max_waves_per_simd 16\nmax_slots_scratch_cu 32\nlds_size_in_kb 64\n"
        "gfx_target_version 110000\nlocation_id 768\ndomain 0\ndrm_render_minor 128\n";
    files[path + "/mem_banks/0/properties"] = "heap_type 1\nsize_in_bytes 25753026560\n";
  }

  Result<std::string> read(const std::string& path) const {
    const auto file = files.find(path.substr(std::string_view(kTopology).size()));
    if (file == files.end()) return error(StatusCode::NotFound, path, ENOENT);
    return file->second;
  }

  Result<std::vector<std::string>> list(const std::string& path) const {
    const std::string prefix = path.substr(std::string_view(kTopology).size()) + "/";
    std::vector<std::string> names;
    for (const auto& [file, text] : files) {
      if (!file.starts_with(prefix)) continue;
      const size_t end = file.find('/', prefix.size());
      std::string name = file.substr(prefix.size(), end - prefix.size());
      if (names.empty() || names.back() != name) names.push_back(std::move(name));
    }
    if (names.empty()) return error(StatusCode::NotFound, path, ENOENT);
    return names;
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
    return live_handles.empty() && live_events.empty() && live_queues.empty() && mappings.empty() &&
           fds.empty();
  }

  std::map<std::string, std::string> files;  // of the topology
  uint64_t gpu_ticks = 0;
  std::set<uint32_t> live_queues;
  kfd_ioctl_create_queue_args last_queue{};
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
  uint32_t last_queue_ = 0;
};

}  // namespace doppel::kfd
