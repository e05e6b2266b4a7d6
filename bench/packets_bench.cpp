// How fast packet streams are encoded, decoded, checked and printed. Bytes are of the stream.
#include <benchmark/benchmark.h>

#include "core/command_encoder.h"
#include "core/packets/dump.h"
#include "core/packets/validate.h"

namespace doppel {
namespace {

using packets::Language;

/// A kernel launch as a queue of the runtime encodes it, over and over.
void encode_launch(CommandStream& stream, const KernelInfo& kernel) {
  DispatchCommand command;
  command.kernel = &kernel;
  command.entry_address = 0x7f0000020100;
  command.dims = LaunchDims::from(Dim3(64), Dim3(256)).value();
  command.kernarg_address = 0x7f0000010040;
  const SignalRef signal{0x7f0000001000, 0x7f0000002008, 7};
  Pm4Encoder encoder(stream);
  encoder.wait(signal, 1);
  encoder.memory_barrier();
  encoder.exec(command);
  encoder.signal(signal, 2);
}

KernelInfo some_kernel() {
  KernelInfo kernel;
  kernel.descriptor.kernel_code_properties = abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR;
  return kernel;
}

CommandStream launches(size_t count) {
  CommandStream stream(Language::Pm4, GfxFamily::Gfx11);
  const KernelInfo kernel = some_kernel();
  for (size_t i = 0; i < count; ++i) encode_launch(stream, kernel);
  return stream;
}

void set_bytes(benchmark::State& state, const CommandStream& stream) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * stream.size() * 4));
  state.counters["packets/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * stream.packet_starts().size()),
                         benchmark::Counter::kIsRate);
}

void BM_EncodeLaunch(benchmark::State& state) {
  CommandStream stream(Language::Pm4, GfxFamily::Gfx11);
  const KernelInfo kernel = some_kernel();
  for (auto _ : state) {
    stream.clear();
    encode_launch(stream, kernel);
    benchmark::DoNotOptimize(stream.dwords().data());
  }
  set_bytes(state, stream);
}
BENCHMARK(BM_EncodeLaunch);

void BM_Walk(benchmark::State& state) {
  const CommandStream stream = launches(1000);
  for (auto _ : state) {
    packets::PacketCursor cursor(Language::Pm4, stream.dwords(), GfxFamily::Gfx11);
    for (; !cursor.done(); cursor.advance()) benchmark::DoNotOptimize(cursor.packet().size);
  }
  set_bytes(state, stream);
}
BENCHMARK(BM_Walk);

void BM_WalkAndValidate(benchmark::State& state) {
  const CommandStream stream = launches(1000);
  for (auto _ : state) {
    packets::PacketCursor cursor(Language::Pm4, stream.dwords(), GfxFamily::Gfx11);
    for (; !cursor.done(); cursor.advance()) {
      benchmark::DoNotOptimize(packets::is_valid(cursor.packet()));
    }
  }
  set_bytes(state, stream);
}
BENCHMARK(BM_WalkAndValidate);

void BM_Dump(benchmark::State& state) {
  const CommandStream stream = launches(100);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        packets::dump_stream(Language::Pm4, stream.dwords(), GfxFamily::Gfx11));
  }
  set_bytes(state, stream);
}
BENCHMARK(BM_Dump);

}  // namespace
}  // namespace doppel

BENCHMARK_MAIN();
