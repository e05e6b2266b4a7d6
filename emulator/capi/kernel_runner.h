// KernelRunner: executes one kernel over memory that the caller owns, without driver, queue or
// packets. It is what the C API, the vector replayer and the interpreter's tests launch with.
//
// The caller keeps mapped memory alive while it runs. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <memory>
#include <span>

#include "core/clock.h"
#include "core/status.h"
#include "core/target.h"
#include "emulator/dispatch/dispatcher.h"
#include "emulator/fault.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::emu {

/// The first address that no range may reach.
inline constexpr uint64_t kUserAddressEnd = uint64_t{1} << 47;

struct KernelLaunch {
  const Target* target = nullptr;
  uint64_t program = 0;  // address of the first instruction, 256-byte aligned, executable
  uint32_t rsrc1 = 0;    // COMPUTE_PGM_RSRC1..3
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  uint32_t wave_size = 32;
  std::array<uint32_t, 3> grid{1, 1, 1};       // workgroups
  std::array<uint32_t, 3> workgroup{1, 1, 1};  // work-items
  std::array<uint32_t, 16> user_data{};        // initial user SGPRs
  uint32_t lds_bytes = 0;                      // per workgroup
  uint32_t scratch_bytes_per_lane = 0;
};

class KernelRunner {
 public:
  explicit KernelRunner(DispatcherOptions options = {});

  /// Lets kernels reach [host, host + size) as [va, va + size), with `permissions` (Access bits),
  /// to the byte. InvalidArgument if the range is empty, overlaps another or passes
  /// kUserAddressEnd.
  Result<> map(uint64_t va, std::byte* host, uint64_t size, uint8_t permissions);

  /// As map, at a page-aligned address of the runner's choice: above 4 GiB, with unmapped pages on
  /// either side. The choice depends on what is mapped, not on `host`, unless the whole process is
  /// mapped: then it is the host's own address.
  Result<uint64_t> map_anywhere(std::byte* host, uint64_t size, uint8_t permissions);

  /// Lets kernels reach the whole of this process at its own addresses: for a caller whose pointers
  /// are trusted. A wild access of the kernel is then a wild access of the process; only the first
  /// page faults.
  Result<> map_host_process();

  /// Memory for the private segments of a launch like this one, allocated if need be; its address.
  /// run() uses it. 0 if the launch needs none.
  Result<uint64_t> reserve_scratch(const KernelLaunch& launch);

  /// Runs the launch to its end. A Fault names the wave, the instruction and the address.
  std::expected<DispatchCounters, Fault> run(const KernelLaunch& launch);

  const GpuVm& vm() const { return vm_; }

 private:
  uint64_t find_gap(uint64_t size) const;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  DispatcherOptions options_;
  VirtualClock clock_;
  GpuVm vm_{1};
  Dispatcher dispatcher_;
  std::unique_ptr<std::byte[], Free> scratch_;
  uint64_t scratch_bytes_ = 0;
  uint64_t scratch_address_ = 0;
  bool maps_process_ = false;
};

}  // namespace doppel::emu
