// A client of the KFD that forks, execs, closes, maps by another libc handle, and handles its own
// signals: `doppel_preload_probe SCENARIO`. Exit status 0 if everything was as with the real
// driver, else the line of the expectation that failed is printed.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::printf("line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
      std::exit(1);                                                         \
    }                                                                       \
  } while (false)

const char* program = nullptr;

int open_kfd(int flags = O_CLOEXEC) {
  const int fd = open("/dev/kfd", O_RDWR | flags);
  EXPECT(fd >= 0);
  return fd;
}

int get_version(int fd) {
  kfd_ioctl_get_version_args args{};
  const int result = ioctl(fd, AMDKFD_IOC_GET_VERSION, &args);
  if (result == 0) EXPECT(args.major_version == 1);
  return result;
}

uint32_t gpu_id() {
  FILE* file = fopen("/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id", "r");
  EXPECT(file != nullptr);
  unsigned id = 0;
  EXPECT(fscanf(file, "%u", &id) == 1);
  fclose(file);
  return id;
}

void acquire_vm(int kfd, int render) {
  kfd_ioctl_acquire_vm_args args{};
  args.drm_fd = static_cast<uint32_t>(render);
  args.gpu_id = gpu_id();
  EXPECT(ioctl(kfd, AMDKFD_IOC_ACQUIRE_VM, &args) == 0);
}

kfd_ioctl_alloc_memory_of_gpu_args allocate(int kfd, uint64_t va, uint64_t bytes) {
  kfd_ioctl_alloc_memory_of_gpu_args args{};
  args.va_addr = va;
  args.size = bytes;
  args.gpu_id = gpu_id();
  args.flags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  EXPECT(ioctl(kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == 0);
  return args;
}

void wait_for_child(pid_t child) {
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void version() {
  EXPECT(get_version(open_kfd()) == 0);
}

// The driver knows a process by its address space: a child's use of its parent's descriptor fails,
// and one of its own works.
void fork_keeps_devices_apart() {
  const int fd = open_kfd();
  EXPECT(get_version(fd) == 0);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(get_version(fd) == -1 && errno == EBADF);
    EXPECT(get_version(open_kfd()) == 0);
    std::exit(0);
  }
  wait_for_child(child);
  EXPECT(get_version(fd) == 0);
}

void fork_without_a_device() {
  const pid_t child = fork();
  if (child == 0) {
    version();
    std::exit(0);
  }
  wait_for_child(child);
  version();
}

void exec_begins_anew() {
  EXPECT(get_version(open_kfd(0)) == 0);
  execl(program, program, "version", nullptr);
  EXPECT(false);
}

void closing_loses_nothing() {
  const int kfd = open_kfd();
  const int render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  EXPECT(render >= 0);
  acquire_vm(kfd, render);
  const auto memory = allocate(kfd, 0x7000'0000'0000, 8192);
  void* mapped = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, render,
                      static_cast<off_t>(memory.mmap_offset));
  EXPECT(mapped != MAP_FAILED);
  EXPECT(close(kfd) == 0 && close(render) == 0);
  std::memset(mapped, 1, 8192);
  EXPECT(get_version(kfd) == -1 && errno == EBADF);
  // The process's memory lives on, as the process does.
  const int again = open_kfd();
  kfd_ioctl_free_memory_of_gpu_args args{};
  args.handle = memory.handle;
  EXPECT(ioctl(again, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args) == 0);
}

void duplicates_are_devices() {
  const int fd = open_kfd();
  const int copies[] = {dup(fd), fcntl(fd, F_DUPFD_CLOEXEC, 100), dup2(fd, 200)};
  EXPECT(close(fd) == 0);
  for (int copy : copies) {
    EXPECT(get_version(copy) == 0);
    struct stat status {};
    EXPECT(fstat(copy, &status) == 0 && S_ISCHR(status.st_mode));
  }
  // The number may be somebody else's now.
  EXPECT(open("/dev/null", O_RDWR) == fd);
  EXPECT(get_version(fd) == -1 && errno == ENOTTY);
}

// What ctypes.CDLL("libc.so.6").mmap is.
void another_libc_handle_maps_too() {
  const int kfd = open_kfd();
  const int render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  acquire_vm(kfd, render);
  void* libc = dlopen("libc.so.6", RTLD_NOW);
  EXPECT(libc != nullptr);
  const auto libc_mmap = reinterpret_cast<decltype(&mmap)>(dlsym(libc, "mmap"));
  const auto memory = allocate(kfd, 0x7000'0000'0000, 4096);
  void* views[2];
  for (void*& view : views) {
    view = libc_mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, render,
                     static_cast<off_t>(memory.mmap_offset));
    EXPECT(view != MAP_FAILED);
  }
  std::strcpy(static_cast<char*>(views[0]), "the same page");
  EXPECT(std::string_view(static_cast<char*>(views[1])) == "the same page");
}

void threads_open_at_once() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) {
        const int fd = open_kfd();
        EXPECT(get_version(fd) == 0);
        close(fd);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

sigjmp_buf back;

void on_fault(int, siginfo_t*, void*) {
  siglongjmp(back, 1);
}

/// What UBSan would forbid is what is meant. The compiler doesn't know where it stores.
[[gnu::noinline, gnu::no_sanitize("undefined")]] void store_to_nowhere() {
  static int* volatile nowhere = nullptr;
  *nowhere = 1;
}

// The library needs the handlers of SIGSEGV and SIGBUS for itself; the client's must not notice.
void signal_handlers_are_kept() {
  struct sigaction early {};
  early.sa_sigaction = on_fault;
  early.sa_flags = SA_SIGINFO;
  EXPECT(sigaction(SIGSEGV, &early, nullptr) == 0);
  version();
  struct sigaction seen {};
  EXPECT(sigaction(SIGSEGV, nullptr, &seen) == 0);
  EXPECT(seen.sa_sigaction == &on_fault && (seen.sa_flags & SA_SIGINFO));
  for (int round = 0; round < 3; ++round) {
    if (sigsetjmp(back, 1) == 0) {
      store_to_nowhere();
      EXPECT(false);
    }
  }
  EXPECT(signal(SIGBUS, SIG_IGN) == SIG_DFL);
  raise(SIGBUS);  // ignored
  EXPECT(signal(SIGBUS, SIG_DFL) == SIG_IGN);
}

void crash_stays_a_crash() {
  version();
  store_to_nowhere();
}

void crash_of_a_child() {
  version();
  const pid_t child = fork();
  if (child == 0) crash_stays_a_crash();
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

void sent_signal_ends_it() {
  version();
  raise(SIGSEGV);
  EXPECT(false);
}

// Prints where the machine's files are, so that the test can see that they go away.
void print_root() {
  version();
  const char* root = getenv("DOPPEL_ROOT");
  EXPECT(root != nullptr);
  std::printf("%s\n", root);
}

void die() {
  print_root();
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
}

struct Scenario {
  std::string_view name;
  void (*run)();
};

constexpr Scenario kScenarios[] = {
    {"version", version},
    {"fork", fork_keeps_devices_apart},
    {"fork_first", fork_without_a_device},
    {"exec", exec_begins_anew},
    {"close", closing_loses_nothing},
    {"dup", duplicates_are_devices},
    {"other_libc", another_libc_handle_maps_too},
    {"threads", threads_open_at_once},
    {"handlers", signal_handlers_are_kept},
    {"crash", crash_stays_a_crash},
    {"child_crash", crash_of_a_child},
    {"raise", sent_signal_ends_it},
    {"root", print_root},
    {"die", die},
};

}  // namespace

int main(int argc, char** argv) {
  program = argv[0];
  for (const Scenario& scenario : kScenarios) {
    if (argc != 2 || scenario.name != argv[1]) continue;
    scenario.run();
    return 0;
  }
  std::printf("no such scenario\n");
  return 2;
}
