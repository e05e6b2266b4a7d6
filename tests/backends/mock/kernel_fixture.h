// A virtual kernel with /dev/kfd and a render node open, and the ioctls as short calls.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/kfd_abi.h"
#include "backends/mock/virtual_kernel.h"

namespace doppel::mock::testing {

inline constexpr uint32_t kGtt = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
                                 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
inline constexpr uint32_t kVram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
                                  KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
inline constexpr uint32_t kUserptr =
    KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
inline constexpr uint64_t kVaBase = 0x7000'0000'0000;

/// One client of one machine.
class Client {
 public:
  explicit Client(std::string_view specification = "mock:gfx1100,cu=4,vram=1GiB") {
    auto machine = parse_machine(specification);
    if (!machine) throw std::runtime_error(machine.error().to_string());
    auto made = VirtualKernel::create(*machine);
    if (!made) throw std::runtime_error(made.error().to_string());
    kernel = std::move(*made);
    kfd = kernel->open("/dev/kfd", O_RDWR | O_CLOEXEC);
    for (const VirtualGpu& gpu : kernel->machine().gpus()) {
      gpu_ids.push_back(gpu.gpu_id());
      const std::string path = "/dev/dri/renderD" + std::to_string(gpu.render_minor());
      render.push_back(kernel->open(path.c_str(), O_RDWR | O_CLOEXEC));
    }
  }
  ~Client() {
    for (int fd : render) kernel->close(fd);
    kernel->close(kfd);
  }

  uint32_t gpu(size_t index = 0) const { return gpu_ids.at(index); }

  template <class Args>
  int call(unsigned long request, Args& args) {
    return kernel->ioctl(kfd, request, &args);
  }

  int acquire(size_t index = 0) {
    kfd_ioctl_acquire_vm_args args{.drm_fd = static_cast<uint32_t>(render.at(index)),
                                   .gpu_id = gpu(index)};
    return call(AMDKFD_IOC_ACQUIRE_VM, args);
  }
  void acquire_all() {
    for (size_t i = 0; i < gpu_ids.size(); ++i) ASSERT_EQ(acquire(i), 0);
  }

  int allocate(uint64_t va, uint64_t size, uint32_t flags, kfd_ioctl_alloc_memory_of_gpu_args& args,
               size_t index = 0, uint64_t user_address = 0) {
    args = {.va_addr = va,
            .size = size,
            .handle = 0,
            .mmap_offset = user_address,
            .gpu_id = gpu(index),
            .flags = flags};
    return call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args);
  }
  /// Allocates and maps on the same GPU; the handle, or 0.
  uint64_t place(uint64_t va, uint64_t size, uint32_t flags, size_t index = 0) {
    kfd_ioctl_alloc_memory_of_gpu_args args;
    if (allocate(va, size, flags, args, index) != 0) return 0;
    return map(args.handle, {gpu(index)}) == 0 ? uint64_t{args.handle} : 0;
  }

  int map(uint64_t handle, std::vector<uint32_t> gpus, uint32_t* n_success = nullptr) {
    kfd_ioctl_map_memory_to_gpu_args args{
        .handle = handle,
        .device_ids_array_ptr = reinterpret_cast<uint64_t>(gpus.data()),
        .n_devices = static_cast<uint32_t>(gpus.size()),
        .n_success = n_success == nullptr ? 0 : *n_success};
    const int result = call(AMDKFD_IOC_MAP_MEMORY_TO_GPU, args);
    if (n_success != nullptr) *n_success = args.n_success;
    return result;
  }
  int unmap(uint64_t handle, std::vector<uint32_t> gpus) {
    kfd_ioctl_unmap_memory_from_gpu_args args{
        .handle = handle,
        .device_ids_array_ptr = reinterpret_cast<uint64_t>(gpus.data()),
        .n_devices = static_cast<uint32_t>(gpus.size()),
        .n_success = 0};
    return call(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, args);
  }
  int free(uint64_t handle) {
    kfd_ioctl_free_memory_of_gpu_args args{.handle = handle};
    return call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, args);
  }

  int create_event(uint32_t type, bool auto_reset, uint32_t& id, uint64_t page = 0) {
    kfd_ioctl_create_event_args args{};
    args.event_page_offset = page;
    args.event_type = type;
    args.auto_reset = auto_reset;
    const int result = call(AMDKFD_IOC_CREATE_EVENT, args);
    id = args.event_id;
    return result;
  }
  int set_event(uint32_t id) {
    kfd_ioctl_set_event_args args{.event_id = id, .pad = 0};
    return call(AMDKFD_IOC_SET_EVENT, args);
  }
  int wait(std::vector<kfd_event_data>& events, bool all, uint32_t timeout_ms, uint32_t& result) {
    kfd_ioctl_wait_events_args args{.events_ptr = reinterpret_cast<uint64_t>(events.data()),
                                    .num_events = static_cast<uint32_t>(events.size()),
                                    .wait_for_all = all,
                                    .timeout = timeout_ms,
                                    .wait_result = 99};
    const int status = call(AMDKFD_IOC_WAIT_EVENTS, args);
    result = args.wait_result;
    return status;
  }
  int wait(uint32_t id, uint32_t timeout_ms, uint32_t& result) {
    std::vector<kfd_event_data> events(1);
    events[0].event_id = id;
    return wait(events, false, timeout_ms, result);
  }

  std::unique_ptr<VirtualKernel> kernel;
  int kfd = -1;
  std::vector<int> render;
  std::vector<uint32_t> gpu_ids;
};

}  // namespace doppel::mock::testing
