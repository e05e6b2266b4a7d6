// What the checks cost: the same work on a plain device and on one that is verified. A chain of
// kernels with copies around it, on three queues, and empty dispatches, where the kernel hides
// nothing.
#include <benchmark/benchmark.h>

#include <string>

#include "backends/open_device.h"

namespace {

using namespace doppel;

constexpr uint32_t kCount = 256 * 1024;  // floats
constexpr uint32_t kSide = 128;          // of a matrix

Result<Program> load(Device& gpu, const std::string& stem) {
  return gpu.load_program(DOPPEL_BINARY_DIR "/kernels/" + stem + ".gfx1100.co");
}

/// Upload, saxpy, saxpy, download: each step on the next queue, and ordered.
Result<> pipeline(benchmark::State& state, Device& gpu) {
  DOPPEL_ASSIGN(const Program program, load(gpu, "saxpy"));
  DOPPEL_ASSIGN(const Allocation host, gpu.allocate(kCount * 4, {.domain = MemoryDomain::Host}));
  DOPPEL_ASSIGN(const Allocation x, gpu.allocate(kCount * 4));
  DOPPEL_ASSIGN(const Allocation y, gpu.allocate(kCount * 4));
  DOPPEL_ASSIGN(const Signal done, gpu.create_signal());
  DOPPEL_TRY(gpu.write(y, std::vector<float>(kCount)));
  uint64_t at = 0;
  for (auto _ : state) {
    DOPPEL_TRY(gpu.sdma().copy(host, x).signal(done, at + 1).submit());
    DOPPEL_TRY(gpu.compute()
                   .wait(done, at + 1)
                   .memory_barrier()
                   .exec(program.kernel("saxpy"), args(x, y, 2.0f, kCount), kCount / 256, 256)
                   .memory_barrier()
                   .exec(program.kernel("saxpy"), args(y, x, 2.0f, kCount), kCount / 256, 256)
                   .signal(done, at + 2)
                   .submit());
    DOPPEL_TRY(gpu.sdma().wait(done, at + 2).copy(x, host).signal(done, at + 3).submit());
    DOPPEL_TRY(done.wait(static_cast<int64_t>(at += 3)));
  }
  return {};
}

Result<> matmul(benchmark::State& state, Device& gpu) {
  DOPPEL_ASSIGN(const Program program, load(gpu, "matmul"));
  const std::vector<float> ones(kSide * kSide, 1);
  DOPPEL_ASSIGN(const Allocation a, gpu.allocate(ones.size() * 4));
  DOPPEL_ASSIGN(const Allocation b, gpu.allocate(ones.size() * 4));
  DOPPEL_ASSIGN(const Allocation c, gpu.allocate(ones.size() * 4));
  DOPPEL_ASSIGN(const Signal done, gpu.create_signal());
  DOPPEL_TRY(gpu.write(a, ones));
  DOPPEL_TRY(gpu.write(b, ones));
  int64_t launches = 0;
  for (auto _ : state) {
    DOPPEL_TRY(gpu.compute()
                   .memory_barrier()
                   .exec(program.kernel("matmul"), args(a, b, c, kSide),
                         Dim3(kSide / 16, kSide / 16), Dim3(16, 16))
                   .signal(done, static_cast<uint64_t>(++launches))
                   .submit());
    DOPPEL_TRY(done.wait(launches));
  }
  return {};
}

Result<> empty(benchmark::State& state, Device& gpu) {
  DOPPEL_ASSIGN(const Program program, load(gpu, "empty"));
  DOPPEL_ASSIGN(const Signal done, gpu.create_signal());
  int64_t launches = 0;
  for (auto _ : state) {
    ComputeCommands commands = gpu.compute();
    for (int i = 0; i < 16; ++i) commands.exec(program.kernel("empty"), args(), 1, 32);
    DOPPEL_TRY(commands.signal(done, static_cast<uint64_t>(++launches)).submit());
    DOPPEL_TRY(done.wait(launches));
  }
  return {};
}

using Work = Result<> (*)(benchmark::State&, Device&);

void Verified(benchmark::State& state, Work work, const Verify& verify) {
  const auto run = [&]() -> Result<> {
    DOPPEL_ASSIGN(const auto gpu, open_device("mock:gfx1100", {.verify = verify}));
    DOPPEL_TRY(work(state, *gpu));
    if (!verify.any()) return {};
    DOPPEL_ASSIGN(const verify::FindingLog findings, gpu->findings());
    if (!findings.empty()) return error(StatusCode::DeviceFault, findings.to_string());
    return {};
  };
  if (const auto done = run(); !done) state.SkipWithError(done.error().to_string().c_str());
}

#define WORK(name)                                                                            \
  BENCHMARK_CAPTURE(Verified, name##_plain, &name, Verify{})->UseRealTime();                  \
  BENCHMARK_CAPTURE(Verified, name##_hazards, &name, Verify{.hazards = true})->UseRealTime(); \
  BENCHMARK_CAPTURE(Verified, name##_all, &name, Verify::all())->UseRealTime()

WORK(pipeline);
WORK(matmul);
WORK(empty);

}  // namespace

BENCHMARK_MAIN();
