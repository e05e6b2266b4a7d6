// PlacingKernel: a driver whose client gets its address ranges at addresses that do not depend on
// the host process: a run prints the same addresses every time, and a recording of it finds them
// free in another process.
//
// Safe to use from several threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/kfd/forwarding_kernel.h"

namespace doppel::kfd {

class PlacingKernel : public ForwardingKernel {
 public:
  using ForwardingKernel::ForwardingKernel;

  /// Anonymous memory whose address is left open comes one range after another; where all that are
  /// tried are taken, the host chooses as usual.
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override;

 private:
  // No half of such an address, nor of one shifted right by 8, looks like a small number: a replay
  // tells addresses from data by that.
  std::atomic<uint64_t> next_ = 0x1d5e'0000'0000;
};

}  // namespace doppel::kfd
