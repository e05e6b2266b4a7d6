// KfdDriver: /dev/kfd, opened once per process and spoken to through the seam. Every ioctl of the
// runtime goes through call(), which restarts interrupted ones and turns errno into a Status that
// names the ioctl.
//
// Safe to use from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/kfd/kernel_abi.h"
#include "backends/kfd/kfd_abi.h"
#include "core/status.h"

namespace doppel::kfd {

/// A descriptor of a KernelAbi; closed with it.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(std::shared_ptr<KernelAbi> kernel, int fd) : kernel_(std::move(kernel)), fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept
      : kernel_(std::move(other.kernel_)), fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return fd_; }

  /// Unavailable, with the reason and a hint, if the node is missing or may not be opened.
  static Result<Descriptor> open(std::shared_ptr<KernelAbi> kernel, const std::string& path);

 private:
  std::shared_ptr<KernelAbi> kernel_;
  int fd_ = -1;
};

class KfdDriver {
 public:
  /// Opens /dev/kfd and checks its version.
  static Result<std::shared_ptr<KfdDriver>> open(std::shared_ptr<KernelAbi> kernel);

  KernelAbi& kernel() const { return *kernel_; }
  const std::shared_ptr<KernelAbi>& shared_kernel() const { return kernel_; }
  int fd() const { return kfd_.get(); }
  uint32_t version_major() const { return major_; }
  uint32_t version_minor() const { return minor_; }

  /// One ioctl; `what` continues the sentence "The driver refuses to ...".
  template <class Args>
  Result<> call(unsigned long request, Args& args, std::string_view what) const {
    return call_raw(request, &args, what);
  }

 private:
  KfdDriver(std::shared_ptr<KernelAbi> kernel, Descriptor kfd)
      : kernel_(std::move(kernel)), kfd_(std::move(kfd)) {}
  Result<> call_raw(unsigned long request, void* args, std::string_view what) const;

  std::shared_ptr<KernelAbi> kernel_;
  Descriptor kfd_;
  uint32_t major_ = 0;
  uint32_t minor_ = 0;
};

/// The ioctl's name without its prefix: "CREATE_QUEUE".
std::string_view ioctl_name(unsigned long request);

}  // namespace doppel::kfd
