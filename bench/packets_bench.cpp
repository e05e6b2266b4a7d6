// How fast packet streams are encoded, decoded, checked and printed. Bytes are of the stream.
#include <benchmark/benchmark.h>

#include "core/command_encoder.h"
#include "core/packets/dump.h"
#include "core/packets/validate.h"

namespace doppel {
namespace {

using packets::Language;

/// A kernel launch as a queue of the runtime encodes it, the `number`th one.
void encode_launch(CommandStream& stream, const KernelInfo& kernel, uint32_t number = 1) {
  DispatchCommand command;
  command.kernel = &kernel;
  command.entry_address = 0x7f0000020100;
  command.dims = LaunchDims::from(Dim3(64 + number % 64), Dim3(256)).value();
  command.kernarg_address = 0x7f0000010000 + uint64_t{number} * 64;
  const SignalRef signal{0x7f0000001000, 0x7f0000002008, 7};
  Pm4Encoder encoder(stream);
  encoder.wait(signal, number);
  encoder.memory_barrier();
  encoder.exec(command);
  encoder.signal(signal, number + 1);
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

/// No two launches have the same addresses and values, as in a real stream; the registers that no
/// launch changes repeat, as there.
void BM_Dump(benchmark::State& state) {
  CommandStream stream(Language::Pm4, GfxFamily::Gfx11);
  const KernelInfo kernel = some_kernel();
  for (uint32_t launch = 0; launch < 10'000; ++launch) encode_launch(stream, kernel, launch);
  packets::Dumper dumper({});
  std::string text;
  for (auto _ : state) {
    text.clear();
    packets::PacketCursor cursor(Language::Pm4, stream.dwords(), GfxFamily::Gfx11);
    for (; !cursor.done(); cursor.advance()) {
      if (text.size() > (1 << 16)) text.clear();  // as if written to a file
      packets::append_offset(text, static_cast<uint32_t>(cursor.offset()));
      dumper.append(text, cursor.packet(), static_cast<uint32_t>(cursor.offset()));
    }
    benchmark::DoNotOptimize(text.data());
  }
  set_bytes(state, stream);
}
BENCHMARK(BM_Dump);

}  // namespace
}  // namespace doppel

BENCHMARK_MAIN();
