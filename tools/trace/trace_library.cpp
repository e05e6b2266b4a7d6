// libdoppel_trace.so: takes over ioctl and writes those of /dev/kfd and of render nodes to the file
// that DOPPEL_CALLS names, or to standard error. Descriptors are recognised by their device
// numbers, so that dup and fork need no care. Nothing here is ever destroyed: programs call the
// driver while they exit.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <fstream>

#include "backends/kfd/call_log.h"
#include "backends/mock/ioctl_names.h"

namespace {

constexpr unsigned kDrmMajor = 226;
constexpr unsigned kFirstRenderMinor = 128;

struct Output {
  std::ofstream file;
  doppel::kfd::CallLog log;
  explicit Output(const char* path)
      : file(path, std::ios::out | std::ios::app), log(file, &doppel::mock::ioctl_name) {}
};

Output& output() {
  static Output& made = *[] {
    const char* path = getenv("DOPPEL_CALLS");
    return new Output(path != nullptr ? path : "/dev/stderr");
  }();
  return made;
}

bool is_gpu(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  if (major(status.st_rdev) == kDrmMajor) return minor(status.st_rdev) >= kFirstRenderMinor;
  struct stat kfd {};
  return stat("/dev/kfd", &kfd) == 0 && kfd.st_rdev == status.st_rdev;
}

int next_ioctl(int fd, unsigned long request, void* argument) {
  static const auto next = reinterpret_cast<decltype(&::ioctl)>(dlsym(RTLD_NEXT, "ioctl"));
  return next(fd, request, argument);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  const int before = errno;
  const bool traced = is_gpu(fd);
  errno = before;
  if (!traced) return next_ioctl(fd, request, argument);
  const int result = output().log.ioctl(fd, request, argument, [&] {
    const int value = next_ioctl(fd, request, argument);
    return value >= 0 ? value : -errno;
  });
  errno = result < 0 ? -result : before;
  return result < 0 ? -1 : result;
}
