#include "backends/mock/memfd_backing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace doppel::mock {
namespace {

std::unexpected<Status> system_error(std::string_view what) {
  const int os_error = errno;
  return error(StatusCode::System,
               fmt::format("The machine refuses {} (errno {}).", what, os_error), os_error);
}

std::byte* map_shared(int fd, uint64_t offset, uint64_t size) {
  void* address =
      raw::map(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, offset);
  if (address == MAP_FAILED) return nullptr;
  // A forked child has no business with the device, and core files none with its memory.
  ::madvise(address, size, MADV_DONTFORK);
  ::madvise(address, size, MADV_DONTDUMP);
  return static_cast<std::byte*>(address);
}

}  // namespace

Result<MemfdBacking> MemfdBacking::create(const char* name, uint64_t file_bytes,
                                          uint64_t window_begin, uint64_t window_end) {
  const int fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return system_error("a memory file for the emulated device");
  raw::FileIdentity identity;
  const bool sized = ::ftruncate(fd, static_cast<off_t>(file_bytes)) == 0 &&
                     ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
                     raw::file_identity(fd, identity) == 0;
  if (!sized) {
    auto failure = system_error("the size of the emulated device's memory file");
    raw::close_fd(fd);
    return failure;
  }
  return MemfdBacking(fd, identity, window_begin, window_end);
}

MemfdBacking::MemfdBacking(int fd, raw::FileIdentity identity, uint64_t window_begin,
                           uint64_t window_end)
    : fd_(fd),
      identity_(identity),
      window_begin_(window_begin),
      window_end_(window_end),
      cursor_(window_begin) {}

MemfdBacking::MemfdBacking(MemfdBacking&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      identity_(other.identity_),
      window_begin_(other.window_begin_),
      window_end_(other.window_end_),
      cursor_(other.cursor_),
      reserved_bytes_(std::exchange(other.reserved_bytes_, 0)),
      alias_(std::exchange(other.alias_, nullptr)),
      extents_(std::move(other.extents_)) {}

MemfdBacking::~MemfdBacking() {
  if (alias_ != nullptr) ::munmap(alias_, window_end_ - window_begin_);
  if (fd_ >= 0) raw::close_fd(fd_);
}

bool MemfdBacking::fits(uint64_t at, uint64_t size) const {
  if (at > window_end_ || size > window_end_ - at) return false;
  auto next = extents_.lower_bound(at);
  if (next != extents_.end() && next->first < at + size) return false;
  if (next == extents_.begin()) return true;
  auto previous = std::prev(next);
  return previous->first + previous->second <= at;
}

Result<uint64_t> MemfdBacking::reserve(uint64_t size) {
  uint64_t at = cursor_;
  if (!fits(at, size)) {
    // The cursor has met the end or an old extent: take the first gap from the beginning.
    at = window_begin_;
    for (const auto& [offset, bytes] : extents_) {
      if (offset - at >= size) break;
      at = offset + bytes;
    }
    if (!fits(at, size))
      return error(StatusCode::OutOfMemory,
                   fmt::format("The device file has no room for the allocation ({} bytes).", size));
  }
  extents_.emplace(at, size);
  reserved_bytes_ += size;
  cursor_ = at + size;
  return at;
}

void MemfdBacking::release(uint64_t offset) {
  auto extent = extents_.find(offset);
  if (extent == extents_.end()) return;
  drop_pages(offset, extent->second);
  reserved_bytes_ -= extent->second;
  extents_.erase(extent);
}

bool MemfdBacking::holds(uint64_t offset, uint64_t size) const {
  auto next = extents_.upper_bound(offset);
  if (next == extents_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(next);
  return offset - begin < bytes && size <= bytes - (offset - begin);
}

void MemfdBacking::drop_pages(uint64_t offset, uint64_t size) {
  ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(size));
}

std::byte* MemfdBacking::host(uint64_t offset) {
  if (alias_ == nullptr) alias_ = map_shared(fd_, window_begin_, window_end_ - window_begin_);
  return alias_ == nullptr ? nullptr : alias_ + (offset - window_begin_);
}

Result<PageMapping> PageMapping::create(int fd, uint64_t offset, uint64_t size) {
  PageMapping mapping;
  mapping.data_ = map_shared(fd, offset, size);
  if (mapping.data_ == nullptr) return system_error("pages of the emulated device");
  mapping.size_ = size;
  return mapping;
}

PageMapping::PageMapping(PageMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PageMapping& PageMapping::operator=(PageMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PageMapping::~PageMapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace doppel::mock
