#include "backends/mock/engine_progress.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <chrono>
#include <thread>

namespace doppel::mock {
namespace {

constexpr uint64_t kMicrosecond = 1'000;
constexpr uint64_t kMillisecond = 1'000'000;

// A slice ends after this long even if there is more to do, so that clients' calls get their turn.
constexpr uint64_t kSliceNs = 200 * kMicrosecond;
constexpr int kStepsPerClockRead = 16;

// How to poll, by how long nothing has happened: at once, then every 50 microseconds, then less.
constexpr uint64_t kSpinNs = 100 * kMicrosecond;
constexpr uint64_t kCloseWatchNs = 20 * kMillisecond;
constexpr uint64_t kDozeNs = 500 * kMillisecond;
constexpr uint64_t kCloseWatchPause = 30 * kMicrosecond;
constexpr uint64_t kDozePause = 500 * kMicrosecond;
constexpr uint64_t kSleepPause = 2 * kMillisecond;

uint64_t real_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void pause_ns(uint64_t ns) {
  const timespec pause{0, static_cast<long>(ns)};
  nanosleep(&pause, nullptr);
}

}  // namespace

EngineProgress::EngineProgress(emu::Simulator& simulator, std::function<void()> after_slice)
    : simulator_(simulator), after_slice_(std::move(after_slice)) {
  simulator_.clock().advance_ns(real_now_ns());
}

sigset_t EngineProgress::signal_mask() {
  sigset_t mask;
  sigfillset(&mask);
  sigdelset(&mask, SIGSEGV);
  sigdelset(&mask, SIGBUS);
  return mask;
}

void EngineProgress::start() {
  const sigset_t mask = signal_mask();
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &mask, &before);
  std::thread([this] { run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// The GPU's clock follows the machine's, and may run ahead of it while the simulator counts work.
uint64_t EngineProgress::now_ns() {
  VirtualClock& clock = simulator_.clock();
  const uint64_t real = real_now_ns();
  if (real > clock.now_ns()) clock.advance_ns(real - clock.now_ns());
  return clock.now_ns();
}

bool EngineProgress::run_slice() {
  const uint64_t begin = real_now_ns();
  now_ns();
  bool ran = false;
  do {
    for (int i = 0; i < kStepsPerClockRead; ++i) {
      if (!simulator_.step()) return ran;
      ran = true;
    }
  } while (real_now_ns() - begin < kSliceNs);
  return ran;
}

void EngineProgress::sleep_until_needed(uint64_t idle_ns) {
  if (hardware_generation_ == 0) {
    wake_.wait(0);
  } else if (idle_ns < kSpinNs) {
    std::this_thread::yield();
  } else if (idle_ns < kCloseWatchNs) {
    pause_ns(kCloseWatchPause);
  } else {
    pause_ns(idle_ns < kDozeNs ? kDozePause : kSleepPause);
  }
}

void EngineProgress::run() {
  // By default Linux adds 50 microseconds to a pause.
  prctl(PR_SET_TIMERSLACK, kMicrosecond);
  uint64_t last_work = real_now_ns();
  uint32_t seen = 0;
  while (true) {
    lock().lock();
    const bool ran = run_slice();
    after_slice_();
    const uint32_t generation = hardware_generation_;
    lock().unlock();
    const uint64_t now = real_now_ns();
    if (ran || generation != seen) last_work = now;
    seen = generation;
    if (!ran) sleep_until_needed(now - last_work);
  }
}

WaitOutcome EngineProgress::wait(uint64_t deadline_ns, const std::function<bool()>& changed) {
  if (changed()) return WaitOutcome::LookAgain;
  const uint64_t now = now_ns();
  if (now >= deadline_ns) return WaitOutcome::DeadlinePassed;
  // The clock may run ahead of the machine's: what is left is what to sleep at most.
  if (deadline_ns == kForever)
    events_.wait(lock());
  else
    events_.wait_for(lock(), std::chrono::nanoseconds(deadline_ns - now));
  return WaitOutcome::LookAgain;
}

void EngineProgress::notify() {
  events_.notify_all();
}

void EngineProgress::hardware_changed() {
  ++hardware_generation_;
  wake_ = 1;
  wake_.notify_all();
}

}  // namespace doppel::mock
