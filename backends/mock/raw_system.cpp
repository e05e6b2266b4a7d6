#include "backends/mock/raw_system.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace doppel::mock::raw {

int file_identity(int fd, FileIdentity& identity) {
  struct stat status {};
  if (syscall(SYS_fstat, fd, &status) != 0) return -errno;
  identity = {status.st_dev, status.st_ino};
  return 0;
}

int close_fd(int fd) {
  return syscall(SYS_close, fd) == 0 ? 0 : -errno;
}

int duplicate(int fd, bool close_on_exec) {
  const long copy = syscall(SYS_fcntl, fd, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  return copy >= 0 ? static_cast<int>(copy) : -errno;
}

int process_id() {
  return static_cast<int>(syscall(SYS_getpid));
}

bool exists(const char* path) {
  const int before = errno;
  const bool found = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  errno = before;
  return found;
}

void* map(void* address, size_t length, int protection, int flags, int fd, uint64_t offset) {
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, length, protection, flags, fd, static_cast<long>(offset)));
}

}  // namespace doppel::mock::raw
