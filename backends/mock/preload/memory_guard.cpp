#include "backends/mock/preload/memory_guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "backends/mock/engine_progress.h"
#include "backends/mock/raw_system.h"

namespace doppel::mock::preload {
namespace {

constexpr uint64_t kPage = 4096;

using Action = struct sigaction;
using SigactionFunction = int (*)(int, const Action*, Action*);

// Constant-initialised and never destroyed: faults come whenever they like.
constinit std::atomic<MemoryGuard::UsedByGpu> used_by_gpu = nullptr;
constinit std::atomic<uint64_t> lost = 0;
constinit std::atomic_flag exchanging;

/// The client's actions, which it believes to be in force.
struct Kept {
  int signal_number;
  Action action;
};
constinit std::array<Kept, 2> kept = {Kept{SIGSEGV, {}}, Kept{SIGBUS, {}}};

Kept* find_kept(int signal_number) {
  for (Kept& entry : kept) {
    if (entry.signal_number == signal_number) return &entry;
  }
  return nullptr;
}

int libc_sigaction(int signal_number, const Action* wanted, Action* previous) {
  static const auto next = reinterpret_cast<SigactionFunction>(dlsym(RTLD_NEXT, "sigaction"));
  return next(signal_number, wanted, previous);
}

/// No handler runs on this thread while another's action is half copied.
class ExchangeLock {
 public:
  ExchangeLock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    while (exchanging.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~ExchangeLock() {
    exchanging.clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

bool on_engine_thread(const ucontext_t& context) {
  const sigset_t mask = EngineProgress::signal_mask();
  constexpr int kFirstRealTime = 32;
  for (int number = 1; number < kFirstRealTime; ++number) {
    if (number == SIGKILL || number == SIGSTOP) continue;
    if (sigismember(&context.uc_sigmask, number) != sigismember(&mask, number)) return false;
  }
  return true;
}

/// Makes the access possible. What it reads is zero, what it writes is gone with the page.
bool put_page(uint64_t address, const siginfo_t& info) {
  void* page = reinterpret_cast<void*>(address & ~(kPage - 1));
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  const int protection = PROT_READ | PROT_WRITE;
  // The page is there, and may not be used so: as hardware does that had it pinned before.
  if (info.si_signo == SIGSEGV && info.si_code == SEGV_ACCERR)
    return mprotect(page, kPage, protection) == 0;
  const int place = info.si_signo == SIGBUS ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  return raw::map(page, kPage, protection, flags | place, -1, 0) != MAP_FAILED || errno == EEXIST;
}

void become_default(int signal_number) {
  Action action{};
  action.sa_handler = SIG_DFL;
  libc_sigaction(signal_number, &action, nullptr);
}

/// What the kernel does with the client's action.
void forward(int signal_number, siginfo_t* info, void* context) {
  Action action{};
  MemoryGuard::exchange(signal_number, nullptr, &action);
  const bool from_a_process = info->si_code <= 0;
  if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN && from_a_process) return;
  if (!(action.sa_flags & SA_SIGINFO) &&
      (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    // Ends the process: the access, when it is repeated, or the signal, when it is sent again.
    become_default(signal_number);
    if (from_a_process) raise(signal_number);
    return;
  }
  if (action.sa_flags & static_cast<int>(SA_RESETHAND)) {
    const Action none{};
    MemoryGuard::exchange(signal_number, &none, nullptr);
  }
  sigset_t mask = action.sa_mask;
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  if (action.sa_flags & SA_NODEFER) {
    sigemptyset(&mask);
    sigaddset(&mask, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  }
  if (action.sa_flags & SA_SIGINFO)
    action.sa_sigaction(signal_number, info, context);
  else
    action.sa_handler(signal_number);
}

void handle(int signal_number, siginfo_t* info, void* context) {
  const int before = errno;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const bool ours = info->si_code > 0 && on_engine_thread(*static_cast<ucontext_t*>(context)) &&
                    used_by_gpu.load()(address) && put_page(address, *info);
  if (ours)
    lost.store(address);
  else
    forward(signal_number, info, context);
  errno = before;
}

}  // namespace

void MemoryGuard::install(UsedByGpu used) {
  if (used_by_gpu != nullptr) return;
  Action action{};
  action.sa_sigaction = &handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (Kept& entry : kept) libc_sigaction(entry.signal_number, nullptr, &entry.action);
  used_by_gpu = used;
  for (Kept& entry : kept) libc_sigaction(entry.signal_number, &action, nullptr);
}

bool MemoryGuard::keeps(int signal_number) {
  return used_by_gpu.load(std::memory_order_relaxed) != nullptr &&
         find_kept(signal_number) != nullptr;
}

void MemoryGuard::exchange(int signal_number, const struct sigaction* wanted,
                           struct sigaction* previous) {
  Kept& entry = *find_kept(signal_number);
  const ExchangeLock lock;
  const Action before = entry.action;
  if (wanted != nullptr) entry.action = *wanted;
  if (previous != nullptr) *previous = before;
}

std::optional<uint64_t> MemoryGuard::take_lost() {
  if (lost.load(std::memory_order_relaxed) == 0) return std::nullopt;
  return lost.exchange(0);
}

}  // namespace doppel::mock::preload
