// System calls that the preload shim interposes, made without libc's wrappers: the driver model
// must never call itself. All return a value >= 0 or -errno, unless said otherwise.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace doppel::mock::raw {

/// Which file a descriptor is, whatever its number: survives dup, fcntl and fork.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

int file_identity(int fd, FileIdentity& identity);
int close_fd(int fd);
/// dup(2) with or without FD_CLOEXEC.
int duplicate(int fd, bool close_on_exec);
int process_id();
/// Whether there is such a file. errno is left as it was.
bool exists(const char* path);
/// mmap(2): MAP_FAILED and errno on failure.
void* map(void* address, size_t length, int protection, int flags, int fd, uint64_t offset);

}  // namespace doppel::mock::raw

namespace doppel::mock {

/// Owns a descriptor.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) raw::close_fd(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace doppel::mock
