// What the preloaded library costs other people's programs: starting under `doppel run`, and the
// engine thread's wake-ups and idling.
//
//   client_bench                                              start-up
//   doppel run --gpu gfx1100,cu=4 -- client_bench --inside    wake-ups and idling
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "backends/open_device.h"

extern char** environ;

namespace {

using namespace doppel;
using namespace std::chrono_literals;

const std::string kBinaryDir = DOPPEL_BINARY_DIR;

void spawn_and_wait(benchmark::State& state, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (auto _ : state) {
    pid_t child = 0;
    int status = -1;
    if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
      state.SkipWithError("the child process failed");
      return;
    }
  }
}

void BM_True(benchmark::State& state) {
  spawn_and_wait(state, {"true"});
}

void BM_RunTrue(benchmark::State& state) {
  spawn_and_wait(state, {kBinaryDir + "/bin/doppel", "run", "--", "true"});
}

void BM_RunHipVectorAdd(benchmark::State& state) {
  const std::string program = kBinaryDir + "/hip/vector_add";
  if (!std::filesystem::exists(program)) {
    state.SkipWithError("the build found no hipcc");
    return;
  }
  spawn_and_wait(state,
                 {kBinaryDir + "/bin/doppel", "run", "--gpu", "gfx1030,cu=4", "--", program});
}

/// A device with a queue, on the driver that is there.
std::unique_ptr<Device> open_driver(benchmark::State& state) {
  auto gpu = open_device("kfd:0");
  if (gpu) return *std::move(gpu);
  state.SkipWithError(gpu.error().to_string().c_str());
  return nullptr;
}

/// From the doorbell to the value of a signal that the packet writes, after the queue has had
/// nothing to do for so many microseconds.
void BM_WakeUp(benchmark::State& state) {
  auto gpu = open_driver(state);
  if (gpu == nullptr) return;
  const Signal done = gpu->create_signal().value();
  const auto rest = std::chrono::microseconds(state.range(0));
  int64_t round = 0;
  for (auto _ : state) {
    const auto until = std::chrono::steady_clock::now() + rest;
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    if (!gpu->compute().signal(done, ++round).submit()) return;
    while (done.value() < round) std::this_thread::yield();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(taken.count());
  }
  (void)gpu->close();
}

/// CPU time of the whole process while the program sleeps with a live queue.
void BM_Idle(benchmark::State& state) {
  auto gpu = open_driver(state);
  if (gpu == nullptr) return;
  const Signal done = gpu->create_signal().value();
  if (!gpu->compute().signal(done, 1).submit() || !done.wait(1)) return;
  std::this_thread::sleep_for(1s);
  double used = 0;
  double passed = 0;
  for (auto _ : state) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(2s);
    passed += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    getrusage(RUSAGE_SELF, &after);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    used += seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) -
            seconds(before.ru_stime);
  }
  state.counters["cpu_percent"] = 100 * used / passed;
  (void)gpu->close();
}

}  // namespace

int main(int argc, char** argv) {
  const bool inside = argc > 1 && std::strcmp(argv[1], "--inside") == 0;
  if (inside) {
    benchmark::RegisterBenchmark("WakeUp/after_us", BM_WakeUp)
        ->Arg(0)
        ->Arg(50)
        ->Arg(1000)
        ->Arg(10000)
        ->UseManualTime()
        ->Iterations(500)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark("Idle", BM_Idle)->Iterations(1)->Unit(benchmark::kMillisecond);
    --argc;
    ++argv;
  } else {
    const auto add = [](const char* name, void (*run)(benchmark::State&)) {
      benchmark::RegisterBenchmark(name, run)->UseRealTime()->Unit(benchmark::kMillisecond);
    };
    add("True", BM_True);
    add("RunTrue", BM_RunTrue);
    add("RunHipVectorAdd", BM_RunHipVectorAdd);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
