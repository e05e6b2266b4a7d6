// Bandwidth of SDMA copies and fills, beside memcpy's and memset's of the same blocks in the same
// run. "of_memcpy" is the ratio that the goal (at least 0.7) is about.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "bench/emulated_queue.h"
#include "core/packets/sdma.h"

namespace doppel::emu::bench {
namespace {

constexpr uint64_t kPacketBytes = 4 << 20;  // what clients split copies at

std::vector<uint32_t> copy_stream(uint64_t destination, uint64_t source, uint64_t bytes) {
  std::vector<uint32_t> stream;
  for (uint64_t at = 0; at < bytes; at += kPacketBytes) {
    const uint64_t piece = std::min(kPacketBytes, bytes - at);
    append(stream, sdma::CopyLinear(kFamily)
                       .count(static_cast<uint32_t>(piece - 1))
                       .src_address(source + at)
                       .dst_address(destination + at));
  }
  return stream;
}

double seconds_of(auto&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Copy(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  EmulatedQueue queue(QueueKind::Sdma, 65536, 2 * bytes + (1 << 20));
  const uint64_t source = queue.allocate(bytes), destination = queue.allocate(bytes);
  auto* from = &queue.at_va<std::byte>(source);
  auto* to = &queue.at_va<std::byte>(destination);
  std::memset(from, 1, bytes);
  std::memset(to, 2, bytes);
  const auto stream = copy_stream(destination, source, bytes);
  double sdma = 0, memcpy = 0;
  for (auto _ : state) {
    const double once = seconds_of([&] {
      queue.submit(stream);
      queue.run();
    });
    state.SetIterationTime(once);
    sdma += once;
    memcpy += seconds_of([&] {
      std::memcpy(to, from, bytes);
      benchmark::ClobberMemory();
    });
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
  state.counters["of_memcpy"] = memcpy / sdma;
}
BENCHMARK(Copy)->UseManualTime()->Arg(4 << 10)->Arg(256 << 10)->Arg(16 << 20)->Arg(256 << 20);

}  // namespace
}  // namespace doppel::emu::bench

BENCHMARK_MAIN();
