// PlacingKernel: a driver whose client gets its address ranges at addresses that do not depend on
// the host process: a run prints the same addresses every time.
#pragma once

#include <cstdint>

#include "backends/kfd/forwarding_kernel.h"

namespace doppel::exec {

class PlacingKernel final : public kfd::ForwardingKernel {
 public:
  using ForwardingKernel::ForwardingKernel;

  /// Anonymous memory whose address is left open comes one range after another; where one is taken,
  /// the host chooses as usual.
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override;

 private:
  uint64_t next_ = 0x1000'0000'0000;
};

}  // namespace doppel::exec
