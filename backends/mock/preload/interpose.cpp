// The libc functions that the preloaded library takes over. Each asks whether the call concerns the
// emulated machine and otherwise hands it on as it is. What they have in common:
//   - They may run before this library's constructors and after its destructors.
//   - errno is theirs to set only on failure.
//   - Device descriptors are recognised by what they are, so that dup, fcntl, close, mmap and read
//     need no taking over.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "backends/mock/preload/memory_guard.h"
#include "backends/mock/preload/shim.h"
#include "backends/mock/raw_system.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace doppel::mock::preload {
namespace {

constexpr unsigned kDrmMajor = 226;
constexpr unsigned kKfdMajor = 235;

/// `NEXT(open)(path, flags)` calls libc's open.
#define NEXT(name)                                          \
  ([] {                                                     \
    static constinit std::atomic<void*> cache;              \
    void* function = cache.load(std::memory_order_relaxed); \
    if (function == nullptr) {                              \
      function = dlsym(RTLD_NEXT, #name);                   \
      cache.store(function, std::memory_order_relaxed);     \
    }                                                       \
    return reinterpret_cast<decltype(&::name)>(function);   \
  }())

int fail(int os_error) {
  errno = os_error;
  return -1;
}

/// Where a path really leads: the path itself, or its place below the fake root.
class Redirected {
 public:
  explicit Redirected(const char* path) : path_(path) {
    if (path == nullptr || !FakeRoot::covers(path)) return;
    Shim* shim = Shim::get();
    if (shim == nullptr) return;
    if (const char* real = shim->root().redirect(path, buffer_)) path_ = real;
  }
  const char* get() const { return path_; }

 private:
  const char* path_;
  std::array<char, PATH_MAX> buffer_;
};

/// A device node that a path names and this machine has; Kind::None for all other paths.
DeviceNode device_at(const char* path) {
  const DeviceNode node = path == nullptr ? DeviceNode{} : Shim::node_of_path(path);
  if (node.kind == DeviceNode::Kind::None) return node;
  Shim* shim = Shim::get();
  return shim != nullptr && shim->has(node) ? node : DeviceNode{};
}

dev_t device_number(const DeviceNode& node) {
  return node.kind == DeviceNode::Kind::Kfd ? makedev(kKfdMajor, 0)
                                            : makedev(kDrmMajor, node.minor);
}

constexpr mode_t kDeviceMode = S_IFCHR | 0666;

/// A status with the look of a character device: what libdrm insists on.
template <class Status>
void describe_device(Status& status, const DeviceNode& node) {
  status.st_mode = kDeviceMode;
  status.st_rdev = device_number(node);
  status.st_size = 0;
  status.st_blocks = 0;
}

void describe_device(struct statx& status, const DeviceNode& node) {
  status.stx_mode = kDeviceMode;
  status.stx_rdev_major = major(device_number(node));
  status.stx_rdev_minor = minor(device_number(node));
  status.stx_size = 0;
  status.stx_blocks = 0;
}

template <class Status>
int status_of_node(const DeviceNode& node, Status* status) {
  memset(static_cast<void*>(status), 0, sizeof *status);
  describe_device(*status, node);
  return 0;
}

/// After a successful fstat: descriptors of ours look like devices.
template <class Status>
void describe_descriptor(int fd, Status* status) {
  Shim* shim = Shim::existing();
  if (shim == nullptr) return;
  const DeviceNode node = shim->node_of(fd);
  if (node.kind != DeviceNode::Kind::None) describe_device(*status, node);
}

/// `handed_on(path)` opens it for real.
template <class HandOn>
int open_path(const char* path, int flags, HandOn handed_on) {
  if (device_at(path).kind != DeviceNode::Kind::None) {
    const int fd = Shim::get()->open_device(path, flags);
    return fd >= 0 ? fd : fail(-fd);
  }
  return handed_on(Redirected(path).get());
}

template <class Status, class HandOn>
int status_of_path(const char* path, Status* status, HandOn handed_on) {
  const DeviceNode node = device_at(path);
  if (node.kind != DeviceNode::Kind::None) return status_of_node(node, status);
  return handed_on(Redirected(path).get());
}

/// A link's text without the fake root in front.
ssize_t strip_root(char* text, ssize_t length) {
  Shim* shim = Shim::existing();
  if (shim == nullptr || length <= 0) return length;
  const size_t prefix = shim->root().prefix_of({text, static_cast<size_t>(length)});
  memmove(text, text + prefix, static_cast<size_t>(length) - prefix);
  return length - static_cast<ssize_t>(prefix);
}

char* strip_root(char* text) {
  if (text == nullptr) return nullptr;
  text[strip_root(text, static_cast<ssize_t>(strlen(text)))] = '\0';
  return text;
}

/// fstatat(fd, "", ..., AT_EMPTY_PATH) asks of the descriptor itself.
bool names_descriptor(const char* path, int flags) {
  return (flags & AT_EMPTY_PATH) && (path == nullptr || *path == '\0');
}

mode_t mode_argument(int flags, va_list arguments) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

// fork's child has neither the engine thread nor the right to the parent's device.
__attribute__((constructor)) void watch_forks() {
  pthread_atfork(nullptr, nullptr, &Shim::forget_after_fork);
}

}  // namespace
}  // namespace doppel::mock::preload

using namespace doppel::mock::preload;  // NOLINT: libc's names are global

// ---- Paths handed on redirected.

#define UNWRAP(...) __VA_ARGS__
#define INTERPOSE_PATH(result, name, parameters, arguments) \
  EXPORTED result name parameters {                         \
    const Redirected redirected(path);                      \
    path = redirected.get();                                \
    return NEXT(name) arguments;                            \
  }
#include "backends/mock/preload/interposed.inc"
#undef INTERPOSE_PATH

// ---- open and its kin.

#define INTERPOSE_OPEN(name)                                                           \
  EXPORTED int name(const char* path, int flags, ...) {                                \
    va_list arguments;                                                                 \
    va_start(arguments, flags);                                                        \
    const mode_t mode = mode_argument(flags, arguments);                               \
    va_end(arguments);                                                                 \
    return open_path(path, flags,                                                      \
                     [&](const char* real) { return NEXT(name)(real, flags, mode); }); \
  }
INTERPOSE_OPEN(open)
INTERPOSE_OPEN(open64)

#define INTERPOSE_OPENAT(name)                                                                    \
  EXPORTED int name(int directory, const char* path, int flags, ...) {                            \
    va_list arguments;                                                                            \
    va_start(arguments, flags);                                                                   \
    const mode_t mode = mode_argument(flags, arguments);                                          \
    va_end(arguments);                                                                            \
    return open_path(path, flags,                                                                 \
                     [&](const char* real) { return NEXT(name)(directory, real, flags, mode); }); \
  }
INTERPOSE_OPENAT(openat)
INTERPOSE_OPENAT(openat64)

// Fortified programs call these.
extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int directory, const char* path, int flags);
int __openat64_2(int directory, const char* path, int flags);
char* __realpath_chk(const char* path, char* resolved, size_t size);
ssize_t __readlink_chk(const char* path, char* buffer, size_t size, size_t buffer_size);
}

EXPORTED int __open_2(const char* path, int flags) {
  return open_path(path, flags, [&](const char* real) { return NEXT(__open_2)(real, flags); });
}
EXPORTED int __open64_2(const char* path, int flags) {
  return open_path(path, flags, [&](const char* real) { return NEXT(__open64_2)(real, flags); });
}
EXPORTED int __openat_2(int directory, const char* path, int flags) {
  return open_path(path, flags,
                   [&](const char* real) { return NEXT(__openat_2)(directory, real, flags); });
}
EXPORTED int __openat64_2(int directory, const char* path, int flags) {
  return open_path(path, flags,
                   [&](const char* real) { return NEXT(__openat64_2)(directory, real, flags); });
}

// ---- File status.

#define INTERPOSE_STAT(name, status_type)                                              \
  EXPORTED int name(const char* path, struct status_type* status) {                    \
    return status_of_path(path, status,                                                \
                          [&](const char* real) { return NEXT(name)(real, status); }); \
  }
INTERPOSE_STAT(stat, stat)
INTERPOSE_STAT(stat64, stat64)
INTERPOSE_STAT(lstat, stat)
INTERPOSE_STAT(lstat64, stat64)

#define INTERPOSE_FSTAT(name, status_type)                \
  EXPORTED int name(int fd, struct status_type* status) { \
    const int result = NEXT(name)(fd, status);            \
    if (result == 0) describe_descriptor(fd, status);     \
    return result;                                        \
  }
INTERPOSE_FSTAT(fstat, stat)
INTERPOSE_FSTAT(fstat64, stat64)

#define INTERPOSE_FSTATAT(name, status_type)                                                  \
  EXPORTED int name(int fd, const char* path, struct status_type* status, int flags) {        \
    const int result = status_of_path(                                                        \
        path, status, [&](const char* real) { return NEXT(name)(fd, real, status, flags); }); \
    if (result == 0 && names_descriptor(path, flags)) describe_descriptor(fd, status);        \
    return result;                                                                            \
  }
INTERPOSE_FSTATAT(fstatat, stat)
INTERPOSE_FSTATAT(fstatat64, stat64)

EXPORTED int statx(int fd, const char* path, int flags, unsigned mask, struct statx* status) {
  const int result = status_of_path(
      path, status, [&](const char* real) { return NEXT(statx)(fd, real, flags, mask, status); });
  if (result == 0 && names_descriptor(path, flags)) describe_descriptor(fd, status);
  return result;
}

// Programs built before glibc 2.33 call these.
extern "C" {
int __xstat(int version, const char* path, struct stat* status);
int __xstat64(int version, const char* path, struct stat64* status);
int __lxstat(int version, const char* path, struct stat* status);
int __lxstat64(int version, const char* path, struct stat64* status);
int __fxstat(int version, int fd, struct stat* status);
int __fxstat64(int version, int fd, struct stat64* status);
}
#define INTERPOSE_XSTAT(name, status_type)                                                      \
  EXPORTED int name(int version, const char* path, struct status_type* status) {                \
    return status_of_path(path, status,                                                         \
                          [&](const char* real) { return NEXT(name)(version, real, status); }); \
  }
INTERPOSE_XSTAT(__xstat, stat)
INTERPOSE_XSTAT(__xstat64, stat64)
INTERPOSE_XSTAT(__lxstat, stat)
INTERPOSE_XSTAT(__lxstat64, stat64)

#define INTERPOSE_FXSTAT(name, status_type)                            \
  EXPORTED int name(int version, int fd, struct status_type* status) { \
    const int result = NEXT(name)(version, fd, status);                \
    if (result == 0) describe_descriptor(fd, status);                  \
    return result;                                                     \
  }
INTERPOSE_FXSTAT(__fxstat, stat)
INTERPOSE_FXSTAT(__fxstat64, stat64)

// ---- Results with paths in them.

EXPORTED ssize_t readlink(const char* path, char* buffer, size_t size) {
  const Redirected redirected(path);
  return strip_root(buffer, NEXT(readlink)(redirected.get(), buffer, size));
}
EXPORTED ssize_t readlinkat(int directory, const char* path, char* buffer, size_t size) {
  const Redirected redirected(path);
  return strip_root(buffer, NEXT(readlinkat)(directory, redirected.get(), buffer, size));
}
EXPORTED ssize_t __readlink_chk(const char* path, char* buffer, size_t size, size_t buffer_size) {
  const Redirected redirected(path);
  return strip_root(buffer, NEXT(__readlink_chk)(redirected.get(), buffer, size, buffer_size));
}
EXPORTED char* realpath(const char* path, char* resolved) {
  const Redirected redirected(path);
  return strip_root(NEXT(realpath)(redirected.get(), resolved));
}
EXPORTED char* __realpath_chk(const char* path, char* resolved, size_t size) {
  const Redirected redirected(path);
  return strip_root(NEXT(__realpath_chk)(redirected.get(), resolved, size));
}
EXPORTED char* canonicalize_file_name(const char* path) {
  const Redirected redirected(path);
  return strip_root(NEXT(canonicalize_file_name)(redirected.get()));
}

// ---- The device itself.

EXPORTED int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if (Shim* shim = Shim::existing();
      shim != nullptr && shim->node_of(fd).kind != doppel::mock::DeviceNode::Kind::None) {
    const int result = shim->ioctl(fd, request, argument);
    return result >= 0 ? result : fail(-result);
  }
  if (Shim::is_parents_kfd(fd)) return fail(EBADF);
  return NEXT(ioctl)(fd, request, argument);
}

// ---- Mapping, for the trace alone: it works without (and is not seen where a client finds libc's
// own mmap). Not handed on by way of libc, so that an allocator may call it from wherever it is.

namespace {

void* map(void* address, size_t length, int protection, int flags, int fd, uint64_t offset) {
  void* mapped = doppel::mock::raw::map(address, length, protection, flags, fd, offset);
  const int failure = mapped == MAP_FAILED ? errno : 0;
  Shim* shim = fd < 0 ? nullptr : Shim::existing();
  if (shim != nullptr && shim->call_log() != nullptr &&
      shim->node_of(fd).kind != doppel::mock::DeviceNode::Kind::None) {
    shim->call_log()->mmap(address, length, protection, flags, fd, offset,
                           failure == 0 ? mapped : nullptr, failure);
    errno = failure;
  }
  return mapped;
}

}  // namespace

EXPORTED void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  return map(address, length, protection, flags, fd, static_cast<uint64_t>(offset));
}
EXPORTED void* mmap64(void* address, size_t length, int protection, int flags, int fd,
                      off64_t offset) {
  return map(address, length, protection, flags, fd, static_cast<uint64_t>(offset));
}

// ---- Signal handlers that the memory guard needs for itself.

EXPORTED int sigaction(int number, const struct sigaction* wanted, struct sigaction* previous) {
  if (!MemoryGuard::keeps(number)) return NEXT(sigaction)(number, wanted, previous);
  MemoryGuard::exchange(number, wanted, previous);
  return 0;
}
EXPORTED sighandler_t signal(int number, sighandler_t handler) {
  if (!MemoryGuard::keeps(number)) return NEXT(signal)(number, handler);
  struct sigaction wanted {};
  struct sigaction previous {};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  sigemptyset(&wanted.sa_mask);
  MemoryGuard::exchange(number, &wanted, &previous);
  return previous.sa_handler;
}
