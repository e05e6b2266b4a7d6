// What a test pays before its first result: a cold process that opens an emulated GPU, loads a code
// object, runs one kernel and exits; and the memory that an idle 24 GiB GPU takes.
//
// The program spawns itself with --child; the time of `true` in the same run says how much of it is
// the operating system's.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "backends/open_device.h"

extern char** environ;

namespace {

using namespace doppel;

const char* const kDevice = "mock:gfx1100,vram=24GiB";

Result<> run_one_kernel() {
  DOPPEL_ASSIGN(auto gpu, open_device(kDevice));
  DOPPEL_ASSIGN(const Program program,
                gpu->load_program(std::string(DOPPEL_BINARY_DIR "/kernels/empty.gfx1100.co")));
  DOPPEL_ASSIGN(const Signal done, gpu->create_signal());
  DOPPEL_TRY(gpu->compute().exec(program.kernel("empty"), args(), 1, 32).signal(done, 1).submit());
  return done.wait(1);
}

uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

void spawn_and_wait(benchmark::State& state, const char* path, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), path);
  arguments.push_back(nullptr);
  for (auto _ : state) {
    pid_t child = 0;
    int status = -1;
    if (posix_spawnp(&child, path, nullptr, nullptr, const_cast<char**>(arguments.data()),
                     environ) ||
        waitpid(child, &status, 0) != child || status != 0) {
      state.SkipWithError("the child process failed");
      return;
    }
  }
}

void BM_EmptyProcess(benchmark::State& state) {
  spawn_and_wait(state, "true", {});
}
BENCHMARK(BM_EmptyProcess)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_ColdProcessToFirstDispatch(benchmark::State& state) {
  spawn_and_wait(state, "/proc/self/exe", {"--child"});
}
BENCHMARK(BM_ColdProcessToFirstDispatch)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_OpenIdleGpu(benchmark::State& state) {
  const uint64_t before = resident_kib();
  uint64_t with_gpu = 0;
  for (auto _ : state) {
    auto gpu = open_device(kDevice);
    if (!gpu) {
      state.SkipWithError(gpu.error().to_string().c_str());
      return;
    }
    with_gpu = std::max(with_gpu, resident_kib());
  }
  state.counters["MiB_before"] = static_cast<double>(before) / 1024;
  state.counters["MiB_with_24GiB_gpu"] = static_cast<double>(with_gpu) / 1024;
}
BENCHMARK(BM_OpenIdleGpu)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--child") == 0) {
    const Result<> outcome = run_one_kernel();
    if (!outcome) fmt::print(stderr, "{}\n", outcome.error().to_string());
    return outcome ? 0 : 1;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
