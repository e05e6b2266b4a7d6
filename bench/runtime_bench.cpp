// What a user of the library pays for a dispatch: recording, encoding, ring, emulated engine and
// wait, for an empty kernel, with 1 or 16 dispatches a submission.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "backends/open_device.h"

namespace {

using namespace doppel;

Result<> dispatch(benchmark::State& state, Queue& queue, const Program& program, const Signal& done,
                  uint64_t& launches) {
  ComputeCommands commands(queue);
  for (int64_t i = 0; i < state.range(0); ++i) {
    commands.exec(program.kernel("empty"), args(), 1, 32);
  }
  DOPPEL_TRY(commands.signal(done, ++launches).submit());
  return done.wait(launches);
}

Result<> run(benchmark::State& state, QueueKind kind) {
  DOPPEL_ASSIGN(auto gpu, open_device("mock:gfx1100"));
  DOPPEL_ASSIGN(const Program program,
                gpu->load_program(std::string(DOPPEL_BINARY_DIR "/kernels/empty.gfx1100.co")));
  DOPPEL_ASSIGN(const auto queue, gpu->create_queue({.kind = kind}));
  DOPPEL_ASSIGN(const Signal done, gpu->create_signal());
  uint64_t launches = 0;
  for (auto _ : state) DOPPEL_TRY(dispatch(state, *queue, program, done, launches));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  return {};
}

void Dispatch(benchmark::State& state, QueueKind kind) {
  if (const Result<> outcome = run(state, kind); !outcome) {
    state.SkipWithError(outcome.error().to_string().c_str());
  }
}
BENCHMARK_CAPTURE(Dispatch, pm4, QueueKind::Pm4)->Arg(1)->Arg(16)->UseRealTime();
BENCHMARK_CAPTURE(Dispatch, aql, QueueKind::Aql)->Arg(1)->Arg(16)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
