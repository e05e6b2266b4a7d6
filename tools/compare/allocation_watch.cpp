#include "tools/compare/allocation_watch.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "backends/kfd/kfd_abi.h"

namespace doppel::compare {
namespace {

// Ranges are far apart, and below the 2^48 that packets carry.
constexpr int kRangeBits = 36;
constexpr uint64_t kFirst = uint64_t{1} << 44;

/// Pages of registers, which not every driver offers.
constexpr uint32_t kNoMemory =
    KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL;

}  // namespace

int AllocationWatch::ioctl(int fd, unsigned long request, void* argument) {
  const int result = ForwardingKernel::ioctl(fd, request, argument);
  if (result < 0 || request != AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) return result;
  const auto& args = *static_cast<const kfd_ioctl_alloc_memory_of_gpu_args*>(argument);
  if ((args.flags & kNoMemory) != 0) return result;
  const std::scoped_lock lock(mutex_);
  ranges_.push_back({args.va_addr, args.size, fmt::format("memory {}", ranges_.size())});
  return result;
}

void AllocationWatch::set_name(uint64_t va, std::string name) {
  const std::scoped_lock lock(mutex_);
  for (Range& range : ranges_ | std::views::reverse) {
    if (range.va != va) continue;
    range.name = std::move(name);
    return;
  }
}

std::optional<uint64_t> AllocationWatch::canonical(uint64_t va) const {
  const std::scoped_lock lock(mutex_);
  for (size_t i = ranges_.size(); i-- != 0;) {
    const uint64_t offset = va - ranges_[i].va;
    if (va >= ranges_[i].va && offset < ranges_[i].size) return kFirst + (i << kRangeBits) + offset;
  }
  return std::nullopt;
}

std::string AllocationWatch::name_of(uint64_t canonical) const {
  if (canonical < kFirst) return {};
  const std::scoped_lock lock(mutex_);
  const uint64_t index = (canonical - kFirst) >> kRangeBits;
  const uint64_t offset = canonical & ((uint64_t{1} << kRangeBits) - 1);
  if (index >= ranges_.size()) return {};
  return offset == 0 ? ranges_[index].name : fmt::format("{}+{:#x}", ranges_[index].name, offset);
}

std::vector<uint32_t> AllocationWatch::canonical_stream(std::vector<uint32_t> dwords) const {
  for (size_t i = 0; i + 1 < dwords.size(); ++i) {
    const uint64_t value = dwords[i] | uint64_t{dwords[i + 1]} << 32;
    auto moved = canonical(value);
    if (!moved && value < uint64_t{1} << 40) {
      moved = canonical(value << 8);
      if (moved) *moved >>= 8;
    }
    if (!moved) continue;
    dwords[i] = static_cast<uint32_t>(*moved);
    dwords[i + 1] = static_cast<uint32_t>(*moved >> 32);
    ++i;
  }
  return dwords;
}

}  // namespace doppel::compare
