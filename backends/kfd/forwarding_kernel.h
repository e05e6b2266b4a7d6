// ForwardingKernel: a KernelAbi that hands every call on to another one: the base of decorators,
// which override what they care about.
#pragma once

#include <memory>

#include "backends/kfd/kernel_abi.h"

namespace doppel::kfd {

class ForwardingKernel : public KernelAbi {
 public:
  explicit ForwardingKernel(std::shared_ptr<KernelAbi> kernel) : kernel_(std::move(kernel)) {}

  KernelAbi& inner() const { return *kernel_; }

  uint64_t now_ns() const override { return kernel_->now_ns(); }
  int open(const char* path, int flags) override { return kernel_->open(path, flags); }
  int close(int fd) override { return kernel_->close(fd); }
  int ioctl(int fd, unsigned long request, void* argument) override {
    return kernel_->ioctl(fd, request, argument);
  }
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override {
    return kernel_->mmap(address, length, protection, flags, fd, offset, os_error);
  }
  int munmap(void* address, size_t length) override { return kernel_->munmap(address, length); }
  Result<std::string> read_file(const std::string& path) override {
    return kernel_->read_file(path);
  }
  Result<std::vector<std::string>> list_dir(const std::string& path) override {
    return kernel_->list_dir(path);
  }
  Result<RenderNodeInfo> render_node_info(int fd) override { return kernel_->render_node_info(fd); }
  void advance_queue(const QueueAdvance& advance) override { kernel_->advance_queue(advance); }
  Relax relax() override { return kernel_->relax(); }
  bool others_may_act() override { return kernel_->others_may_act(); }
  bool host_goes_on() override { return kernel_->host_goes_on(); }
  std::string stall_report() override { return kernel_->stall_report(); }
  std::string fault_report() override { return kernel_->fault_report(); }
  verify::HostObserver* host_observer() override { return kernel_->host_observer(); }
  std::optional<verify::FindingLog> findings() override { return kernel_->findings(); }

 private:
  std::shared_ptr<KernelAbi> kernel_;
};

}  // namespace doppel::kfd
