// MemfdBacking: memory of a device file. It is a sparse memfd, so that whoever holds the descriptor
// can map an extent at its true file offset, by any mmap there is; the emulator sees the same pages
// through an alias of its own. Pages are committed by first touch and given back by release().
//
// Owns the descriptor and the alias. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "backends/mock/raw_system.h"
#include "core/status.h"

namespace doppel::mock {

class MemfdBacking {
 public:
  /// A file of `file_bytes` whose extents are handed out from [window_begin, window_end). The size
  /// is sealed. Errors: System.
  static Result<MemfdBacking> create(const char* name, uint64_t file_bytes, uint64_t window_begin,
                                     uint64_t window_end);
  MemfdBacking(MemfdBacking&& other) noexcept;
  MemfdBacking& operator=(MemfdBacking&&) = delete;
  ~MemfdBacking();

  int fd() const { return fd_; }
  raw::FileIdentity identity() const { return identity_; }

  /// Reserves `size` bytes (whole pages) and returns their file offset; OutOfMemory if the window
  /// is full. Offsets are not reused before the window has wrapped, so that a stale mapping does
  /// not alias a new allocation.
  Result<uint64_t> reserve(uint64_t size);
  /// Gives the extent back and drops its pages: its next user reads zeros.
  void release(uint64_t offset);

  /// Whether [offset, offset + size) lies in one extent that is in use.
  bool holds(uint64_t offset, uint64_t size) const;

  /// The emulator's address of a byte of the window. Maps the window on first use; nullptr if the
  /// address space is exhausted.
  std::byte* host(uint64_t offset);

  uint64_t reserved_bytes() const { return reserved_bytes_; }

 private:
  MemfdBacking(int fd, raw::FileIdentity identity, uint64_t window_begin, uint64_t window_end);
  bool fits(uint64_t at, uint64_t size) const;
  void drop_pages(uint64_t offset, uint64_t size);

  int fd_ = -1;
  raw::FileIdentity identity_;
  uint64_t window_begin_;
  uint64_t window_end_;
  uint64_t cursor_;
  uint64_t reserved_bytes_ = 0;
  std::byte* alias_ = nullptr;
  std::map<uint64_t, uint64_t> extents_;  // offset -> size, in use
};

/// A mapping of part of a descriptor, for pages that exist once per device file (doorbells, event
/// page, MMIO). Owns the mapping, not the descriptor.
class PageMapping {
 public:
  static Result<PageMapping> create(int fd, uint64_t offset, uint64_t size);
  PageMapping() = default;
  PageMapping(PageMapping&& other) noexcept;
  PageMapping& operator=(PageMapping&& other) noexcept;
  ~PageMapping();

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace doppel::mock
