// GpuVm: the page table of one process on one GPU. It maps GPU virtual addresses, extent by extent,
// onto host memory that somebody else owns (the driver model's backing); a GPU address need not
// equal the CPU's. Every access of packet processors, SDMA and waves goes through it.
//
// Not thread-safe for map/unmap; concurrent lookups are safe while nobody maps or unmaps (waves of
// one dispatch may run on several threads). epoch() changes with every map and unmap, so that
// cached lookups know when they are stale.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"
#include "emulator/fault.h"

namespace doppel::emu {

class Observer;

inline constexpr uint64_t kGpuPageBytes = 4096;

enum class Access : uint8_t { Read = 1, Write = 2, ReadWrite = 3, Execute = 4 };

/// "read", "write", "read-write" or "execute".
std::string_view to_string(Access access);

enum class MemoryKind : uint8_t { Vram, PeerVram, Gtt, UserPtr, Doorbell, Mmio };

/// "vram", "peer-vram", "gtt", "userptr", "doorbell" or "mmio".
std::string_view to_string(MemoryKind kind);

/// One extent: [va, va + size) of the GPU's address space onto [host, host + size), both a multiple
/// of the address space's granule (a page, unless GpuVm was told otherwise).
struct Mapping {
  uint64_t va = 0;
  uint64_t size = 0;          // bytes
  std::byte* host = nullptr;  // not owned; valid until unmapped
  uint8_t permissions = 0;    // Access bits
  MemoryKind kind = MemoryKind::Vram;
  bool coherent = false;     // fine-grained / uncached for the host
  uint64_t allocation = 0;   // the driver's handle, for messages
  bool host_visible = true;  // the host may have a mapping of its own
};

struct MemoryFault {
  FaultKind kind = FaultKind::UnmappedAccess;  // or PermissionDenied; Misaligned: over two extents
  uint64_t va = 0;                             // first byte that can't be accessed
  uint64_t size = 0;                           // bytes asked for
  Access access = Access::Read;
  std::string nearest;  // nearest allocation, in words

  /// "The write of 8 bytes reaches unmapped memory (va 0x1000)."
  std::string message() const;
};

/// The queue-less Fault of a failed access: kind, message, address, size, direction, neighbour. The
/// unit that made the access adds where it happened.
Fault to_fault(const MemoryFault& memory_fault);

/// The page table's answer for a one-entry TLB: host bytes for [va_begin, va_end).
struct TlbEntry {
  uint64_t va_begin = 1;
  uint64_t va_end = 0;
  std::byte* host = nullptr;  // of va_begin
  uint64_t epoch = 0;
  uint8_t permissions = 0;
};

class GpuVm {
 public:
  /// `granule`: a power of two of bytes that extents are made of. Less than a page serves callers
  /// that map objects of the host heap and want exact bounds.
  explicit GpuVm(uint64_t granule = kGpuPageBytes) : granule_(granule) {}
  GpuVm(const GpuVm&) = delete;
  GpuVm& operator=(const GpuVm&) = delete;

  /// InvalidArgument if the extent is empty, unaligned or overlaps one that exists.
  Result<> map(const Mapping& mapping);
  /// NotFound if no extent begins at `va`.
  Result<> unmap(uint64_t va);

  /// The extent that holds `va`, or nullptr.
  const Mapping* find(uint64_t va) const;

  /// Host memory for [va, va + size), which must lie in one extent and allow `access`.
  std::expected<std::byte*, MemoryFault> translate(uint64_t va, uint64_t size, Access access) const;

  /// As translate, but returns how many contiguous bytes (<= size, > 0) are there.
  std::expected<std::span<std::byte>, MemoryFault> translate_prefix(uint64_t va, uint64_t size,
                                                                    Access access) const;

  /// Fills a TLB entry for the extent that holds `va`; false if there is none.
  bool fill_tlb(uint64_t va, TlbEntry& entry) const;

  /// Copies across extents. On a fault, nothing or a prefix has been copied.
  std::expected<void, MemoryFault> read(uint64_t va, std::span<std::byte> out) const;
  std::expected<void, MemoryFault> write(uint64_t va, std::span<const std::byte> data) const;

  /// The fault that an access of [va, va + size) meets; call it only for one that fails.
  MemoryFault fault_at(uint64_t va, uint64_t size, Access access) const;
  /// "vram 0x7f0000000000+0x1000 (handle 12), 64 bytes above its end"; "" if nothing is mapped.
  std::string describe_nearest(uint64_t va) const;

  /// Tells `observer` of each map and unmap from now on; nullptr: nobody. Not owned.
  void observe(Observer* observer) { observer_ = observer; }

  uint64_t epoch() const { return epoch_; }
  const std::map<uint64_t, Mapping>& mappings() const { return mappings_; }

 private:
  const uint64_t granule_;
  std::map<uint64_t, Mapping> mappings_;  // by va
  uint64_t epoch_ = 1;
  Observer* observer_ = nullptr;
  mutable std::atomic<const Mapping*> last_hit_{nullptr};  // a hint; nodes of the map are stable
};

}  // namespace doppel::emu
