// AllocationWatch: notes where a client's memory lies, so that packet streams of two runs compare:
// each address becomes "the nth allocation, plus an offset", which is the same wherever the
// allocations lie.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/kfd/forwarding_kernel.h"

namespace doppel::compare {

class AllocationWatch final : public kfd::ForwardingKernel {
 public:
  using ForwardingKernel::ForwardingKernel;

  int ioctl(int fd, unsigned long request, void* argument) override;

  /// What the allocation at `va` is called; else it is "memory N", in order of allocation.
  void set_name(uint64_t va, std::string name);

  /// The address that stands for `va` in every run; nullopt outside of all allocations.
  std::optional<uint64_t> canonical(uint64_t va) const;
  /// "x+0x40" for a canonical address, "" for any other.
  std::string name_of(uint64_t canonical) const;

  /// The stream with every address in it (two dwords, or one shifted right by 8 as in COMPUTE_PGM)
  /// replaced by the canonical one.
  std::vector<uint32_t> canonical_stream(std::vector<uint32_t> dwords) const;

 private:
  struct Range {
    uint64_t va = 0;
    uint64_t size = 0;
    std::string name;
  };
  mutable std::mutex mutex_;
  std::vector<Range> ranges_;  // in order of allocation, freed ones too: the latest wins
};

}  // namespace doppel::compare
