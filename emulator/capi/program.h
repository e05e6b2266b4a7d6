// Program: a kernel's code in memory that a KernelRunner can execute, and what its launch needs to
// know of it. Owns the memory; keep it alive while the runner runs. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/code_object.h"
#include "core/status.h"
#include "emulator/capi/kernel_runner.h"

namespace doppel::emu {

class Program {
 public:
  /// Maps raw machine code; sets launch.program. InvalidArgument if it is not made of dwords.
  Result<> load_raw(std::span<const std::byte> code, KernelRunner& runner, KernelLaunch& launch);

  /// Maps a code object's image and sets up launch for its kernel ("" for the only one): program,
  /// registers, wave size and the user SGPRs that the descriptor asks for. launch holds the grid
  /// and the dynamic LDS bytes already. `kernarg` is an address in the runner, hidden arguments
  /// included. Unsupported if the kernel wants a queue pointer: there is no queue.
  Result<> load_object(std::span<const std::byte> file, std::string_view kernel, uint64_t kernarg,
                       KernelRunner& runner, KernelLaunch& launch);

 private:
  Result<uint64_t> map_code(uint64_t size, KernelRunner& runner, std::span<std::byte>& memory);
  Result<uint64_t> map_dispatch_packet(const KernelInfo& kernel, uint64_t kernarg,
                                       const KernelLaunch& launch, KernelRunner& runner);
  Result<> set_user_sgprs(const KernelInfo& kernel, uint64_t kernarg, KernelRunner& runner,
                          KernelLaunch& launch);

  std::vector<std::byte> code_;
  std::vector<std::byte> packet_;
};

}  // namespace doppel::emu
