#include "backends/capture/replay_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backends/capture/record.h"
#include "core/abi/amd_signal.h"

namespace doppel::capture {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

/// Whether a difference at `offset` lies in the timestamps of a signal of the block.
bool is_timestamp(const ReplayMemory::Block& block, uint64_t offset) {
  const uint64_t begin = offset / sizeof(doppel::abi::AmdSignal) * sizeof(doppel::abi::AmdSignal);
  if (begin + sizeof(doppel::abi::AmdSignal) > block.size) return false;
  doppel::abi::AmdSignal signal;
  std::memcpy(&signal, block.host + begin, sizeof signal);
  const uint64_t inside = offset - begin;
  return signal.kind == doppel::abi::AMD_SIGNAL_KIND_USER &&
         inside >= offsetof(doppel::abi::AmdSignal, start_ts) &&
         inside < offsetof(doppel::abi::AmdSignal, queue_ptr);
}

}  // namespace

ReplayMemory::~ReplayMemory() {
  for (auto& [handle, block] : blocks_) unmap(block);
}

void ReplayMemory::unmap(Block& block) {
  if (block.va != 0) kernel_.munmap(reinterpret_cast<void*>(block.va), block.size);
  block.va = 0;
}

Result<ReplayMemory::Block*> ReplayMemory::reserve(uint64_t recorded_handle,
                                                   const kfd_ioctl_alloc_memory_of_gpu_args& args) {
  if (args.size == 0 || args.size > kMaxBytes || args.size % kPageBytes != 0 ||
      args.va_addr % kPageBytes != 0) {
    return error(
        StatusCode::Malformed,
        fmt::format("The trace allocates what is no whole number of pages ({:#x}, {} bytes).",
                    args.va_addr, args.size));
  }
  Block block{.recorded_va = args.va_addr, .size = args.size, .number = next_number_++};
  block.user = (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0;
  const int protection = block.user ? PROT_READ | PROT_WRITE : PROT_NONE;
  const int flags =
      block.user ? MAP_SHARED | MAP_ANONYMOUS : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  int os_error = 0;
  void* wanted = reinterpret_cast<void*>(args.va_addr + move_);
  void* got =
      kernel_.mmap(wanted, args.size, protection, flags | MAP_FIXED_NOREPLACE, -1, 0, &os_error);
  if (got == nullptr) got = kernel_.mmap(nullptr, args.size, protection, flags, -1, 0, &os_error);
  if (got == nullptr) {
    return std::unexpected(status_from_errno(
        os_error, fmt::format("The process has no room for an allocation ({} bytes).", args.size)));
  }
  block.va = reinterpret_cast<uint64_t>(got);
  if (block.user) block.host = static_cast<std::byte*>(got);
  addresses_.add(block.recorded_va, block.size, block.va);
  if (const auto old = blocks_.find(recorded_handle); old != blocks_.end()) unmap(old->second);
  return &blocks_.insert_or_assign(recorded_handle, block).first->second;
}

Result<> ReplayMemory::adopt(Block& block, const kfd_ioctl_alloc_memory_of_gpu_args& args,
                             int render_fd) {
  block.handle = args.handle;
  const bool visible =
      (args.flags & (KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC)) != 0;
  if (block.user || !visible) return {};
  int os_error = 0;
  void* mapped = kernel_.mmap(reinterpret_cast<void*>(block.va), block.size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, render_fd, args.mmap_offset, &os_error);
  if (mapped == nullptr) {
    return std::unexpected(status_from_errno(
        os_error, fmt::format("The render node does not map an allocation for the CPU ({} bytes).",
                              block.size)));
  }
  block.host = static_cast<std::byte*>(mapped);
  return {};
}

void ReplayMemory::release(uint64_t recorded_handle) {
  const auto found = blocks_.find(recorded_handle);
  if (found == blocks_.end()) return;
  addresses_.remove(found->second.recorded_va);
  unmap(found->second);
  blocks_.erase(found);
}

Result<uint64_t> ReplayMemory::handle_now(uint64_t recorded) const {
  const auto found = blocks_.find(recorded);
  if (found != blocks_.end()) return found->second.handle;
  return error(
      StatusCode::Malformed,
      fmt::format("The trace uses memory that it has not allocated (handle {:#x}).", recorded));
}

Result<std::pair<ReplayMemory::Block*, std::span<std::byte>>> ReplayMemory::find(
    uint64_t recorded_va, uint64_t size) {
  for (auto& [handle, block] : blocks_) {
    const uint64_t offset = recorded_va - block.recorded_va;
    if (recorded_va < block.recorded_va || offset >= block.size) continue;
    if (size > block.size - offset || block.host == nullptr) break;
    return std::pair(&block, std::span(block.host + offset, size));
  }
  return error(StatusCode::Malformed,
               fmt::format("The trace has bytes of memory that the host does not see ({:#x}, {} "
                           "bytes).",
                           recorded_va, size));
}

Result<> ReplayMemory::write(uint64_t recorded_va, std::span<const std::byte> bytes) {
  DOPPEL_ASSIGN(const auto found, find(recorded_va, bytes.size()));
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  addresses_.rewrite(copy);
  std::ranges::copy(copy, found.second.begin());
  return {};
}

Result<> ReplayMemory::compare(uint64_t recorded_va, std::span<const std::byte> expected,
                               const std::function<void(const Difference&)>& report) {
  DOPPEL_ASSIGN(const auto found, find(recorded_va, expected.size()));
  const auto& [block, got] = found;
  std::vector<std::byte> wanted(expected.begin(), expected.end());
  addresses_.rewrite(wanted);
  const auto start = static_cast<uint64_t>(got.data() - block->host);
  for (size_t at = 0; at < wanted.size();) {
    if (wanted[at] == got[at]) {
      ++at;
      continue;
    }
    const bool timestamp = is_timestamp(*block, start + at);
    size_t end = at;
    while (end < wanted.size() && wanted[end] != got[end] &&
           is_timestamp(*block, start + end) == timestamp) {
      ++end;
    }
    report({fmt::format("allocation {}+{:#x}", block->number, start + at), end - at,
            std::to_integer<uint8_t>(wanted[at]), std::to_integer<uint8_t>(got[at]), timestamp});
    at = end;
  }
  return {};
}

std::span<std::byte> ReplayMemory::view(uint64_t va, uint64_t size) const {
  for (const auto& [handle, block] : blocks_) {
    const uint64_t offset = va - block.va;
    if (block.host == nullptr || va < block.va || offset >= block.size) continue;
    if (size > block.size - offset) return {};
    return {block.host + offset, size};
  }
  return {};
}

}  // namespace doppel::capture
