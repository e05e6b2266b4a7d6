// RecordingKernel: a decorator that writes every call through the seam as one JSON object a line
// (CallLog's format), so that a log taken on hardware can serve as a golden for the virtual driver.
// Reads of the clock and relax() are not recorded. Safe to use from several threads.
#pragma once

#include <iosfwd>
#include <memory>

#include "backends/kfd/call_log.h"
#include "backends/kfd/forwarding_kernel.h"

namespace doppel::kfd {

class RecordingKernel final : public ForwardingKernel {
 public:
  /// `log` outlives the kernel.
  RecordingKernel(std::shared_ptr<KernelAbi> kernel, std::ostream& log)
      : ForwardingKernel(std::move(kernel)), log_(log) {}

  int open(const char* path, int flags) override;
  int close(int fd) override;
  int ioctl(int fd, unsigned long request, void* argument) override;
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override;
  int munmap(void* address, size_t length) override;
  Result<std::string> read_file(const std::string& path) override;
  Result<std::vector<std::string>> list_dir(const std::string& path) override;
  Result<RenderNodeInfo> render_node_info(int fd) override;

 private:
  CallLog log_;
};

}  // namespace doppel::kfd
