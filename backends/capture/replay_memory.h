// ReplayMemory: the memory of a replay: address ranges, the driver's handles, and the host's view
// of them by recorded address. Everything is unmapped at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/capture/address_map.h"
#include "backends/kfd/kernel_abi.h"
#include "backends/kfd/kfd_abi.h"
#include "core/status.h"

namespace doppel::capture {

class ReplayMemory {
 public:
  struct Block {
    uint64_t recorded_va = 0;
    uint64_t va = 0;
    uint64_t size = 0;
    uint64_t handle = 0;  // the driver's, now
    bool user = false;    // the process's own memory, pinned
    std::byte* host = nullptr;
    uint64_t number = 0;  // in order of allocation
  };
  /// A run of bytes that differ.
  struct Difference {
    std::string place;
    uint64_t bytes = 0;
    uint8_t expected = 0, got = 0;
    bool timestamp = false;  // of an amd_signal_t
  };

  /// `kernel` outlives it; `move` is added to every address.
  ReplayMemory(kfd::KernelAbi& kernel, uint64_t move) : kernel_(kernel), move_(move) {}
  ~ReplayMemory();
  ReplayMemory(const ReplayMemory&) = delete;
  ReplayMemory& operator=(const ReplayMemory&) = delete;

  /// Takes the address range of an allocation, elsewhere if it is taken.
  Result<Block*> reserve(uint64_t recorded_handle, const kfd_ioctl_alloc_memory_of_gpu_args& args);
  /// After the driver has allocated it: maps it for the host where that is possible.
  Result<> adopt(Block& block, const kfd_ioctl_alloc_memory_of_gpu_args& args, int render_fd);
  void release(uint64_t recorded_handle);

  /// A handle whose calls are left out.
  void ignore(uint64_t recorded_handle) { ignored_.insert(recorded_handle); }
  void forget_ignored(uint64_t recorded_handle) { ignored_.erase(recorded_handle); }
  bool ignored(uint64_t recorded_handle) const { return ignored_.contains(recorded_handle); }
  Result<uint64_t> handle_now(uint64_t recorded) const;

  const AddressMap& addresses() const { return addresses_; }

  /// Malformed if the recorded range is not memory that the host sees.
  Result<> write(uint64_t recorded_va, std::span<const std::byte> bytes);
  Result<> compare(uint64_t recorded_va, std::span<const std::byte> expected,
                   const std::function<void(const Difference&)>& report);
  /// The host's view of `size` bytes at an address of this process; empty if there is none.
  std::span<std::byte> view(uint64_t va, uint64_t size) const;

 private:
  Result<std::pair<Block*, std::span<std::byte>>> find(uint64_t recorded_va, uint64_t size);
  void unmap(Block& block);

  kfd::KernelAbi& kernel_;
  uint64_t move_;
  AddressMap addresses_;
  std::map<uint64_t, Block> blocks_;  // by recorded handle
  std::set<uint64_t> ignored_;
  uint64_t next_number_ = 0;
};

}  // namespace doppel::capture
