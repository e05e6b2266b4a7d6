// LinuxKernel: the KernelAbi of a real machine: system calls, and libdrm with libdrm_amdgpu for
// what only the render node knows. Stateless; safe to use from several threads.
#pragma once

#include "backends/kfd/kernel_abi.h"

namespace doppel::kfd {

class LinuxKernel final : public KernelAbi {
 public:
  uint64_t now_ns() const override;  // CLOCK_MONOTONIC_RAW, as KFD's system clock counter
  int open(const char* path, int flags) override;
  int close(int fd) override;
  int ioctl(int fd, unsigned long request, void* argument) override;
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override;
  int munmap(void* address, size_t length) override;
  Result<std::string> read_file(const std::string& path) override;
  Result<std::vector<std::string>> list_dir(const std::string& path) override;
  Result<RenderNodeInfo> render_node_info(int fd) override;
  Relax relax() override;  // yields; never Stalled
  std::string stall_report() override { return {}; }
};

}  // namespace doppel::kfd
