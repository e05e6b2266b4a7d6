// FailingKernel: a KernelAbi in front of the emulated machine that fails where a test says so. What
// no hook concerns passes through, so that the rest of the machine is real.
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/forwarding_kernel.h"
#include "backends/kfd/kfd_abi.h"

namespace doppel::testing {

class FailingKernel final : public kfd::ForwardingKernel {
 public:
  using ForwardingKernel::ForwardingKernel;

  // Hooks: an answer, or nullopt to pass the call on.
  std::function<std::optional<int>(std::string_view path)> on_open;
  std::function<std::optional<int>(unsigned long request, void* argument)> before_ioctl;
  std::function<void(unsigned long request, void* argument)> after_ioctl;  // of those that succeed
  /// What a mapping of a device file becomes: an address, or nullptr for ENOMEM.
  std::function<std::optional<void*>(void* address, size_t length)> on_device_mmap;
  std::function<std::optional<Result<std::string>>(const std::string& path)> on_read;
  std::function<std::optional<Result<kfd::RenderNodeInfo>>()> on_render_info;
  std::function<std::optional<kfd::Relax>()> on_relax;
  std::function<uint64_t(uint64_t)> on_clock;

  uint64_t now_ns() const override {
    return on_clock ? on_clock(inner().now_ns()) : inner().now_ns();
  }
  int open(const char* path, int flags) override {
    if (const auto answer = on_open ? on_open(path) : std::nullopt) return *answer;
    return inner().open(path, flags);
  }
  int ioctl(int fd, unsigned long request, void* argument) override {
    if (const auto answer = before_ioctl ? before_ioctl(request, argument) : std::nullopt) {
      return *answer;
    }
    const int result = inner().ioctl(fd, request, argument);
    if (result >= 0 && after_ioctl) after_ioctl(request, argument);
    return result;
  }
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override {
    const bool of_device = fd >= 0 && on_device_mmap;
    if (const auto answer = of_device ? on_device_mmap(address, length) : std::nullopt) {
      if (*answer == nullptr) *os_error = ENOMEM;
      return *answer;
    }
    return inner().mmap(address, length, protection, flags, fd, offset, os_error);
  }
  Result<std::string> read_file(const std::string& path) override {
    if (auto answer = on_read ? on_read(path) : std::nullopt) return *std::move(answer);
    return inner().read_file(path);
  }
  Result<std::vector<std::string>> list_dir(const std::string& path) override {
    if (auto answer = on_read ? on_read(path) : std::nullopt; answer && !*answer) {
      return std::unexpected(answer->error());
    }
    return inner().list_dir(path);
  }
  Result<kfd::RenderNodeInfo> render_node_info(int fd) override {
    if (auto answer = on_render_info ? on_render_info() : std::nullopt) return *std::move(answer);
    return inner().render_node_info(fd);
  }
  kfd::Relax relax() override {
    if (const auto answer = on_relax ? on_relax() : std::nullopt) return *answer;
    return inner().relax();
  }
};

}  // namespace doppel::testing
