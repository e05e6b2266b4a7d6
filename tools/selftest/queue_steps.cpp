// Queues of each kind: create, make them do something, see the effect.
#include <numeric>

#include <fmt/format.h>

#include "tools/selftest/bench.h"
#include "tools/selftest/kernels.h"

namespace doppel::selftest {
namespace {

constexpr uint32_t kCount = 4096;  // elements of a buffer
constexpr uint32_t kWorkgroup = 64;
constexpr uint32_t kPattern = 0x5eed1234;
constexpr AllocationOptions kVisible{.domain = MemoryDomain::Gtt};

Result<Done> open_gpu(Bench& bench) {
  DOPPEL_ASSIGN(auto device, kfd::KfdDevice::open(bench.process, bench.gpu_index, "gpu"));
  bench.devices.push_back(std::move(device));
  return Done{};
}

Result<Done> make_queue(Bench& bench, QueueKind kind) {
  DOPPEL_ASSIGN(const Queue* queue, bench.gpu().default_queue(kind));
  return Done{fmt::format("queue {}", queue->id())};
}

Result<Done> copy_by_sdma(Bench& bench) {
  DOPPEL_ASSIGN(const Allocation source, bench.gpu().allocate(kCount * 4, kVisible));
  DOPPEL_ASSIGN(const Allocation vram, bench.gpu().allocate(kCount * 4));
  DOPPEL_ASSIGN(const Allocation back, bench.gpu().allocate(kCount * 4, kVisible));
  const auto in = source.host_as<uint32_t>();
  std::iota(in.begin(), in.end(), kPattern);
  DOPPEL_ASSIGN(const Signal done, bench.gpu().create_signal({.interrupt = false}));
  DOPPEL_TRY(bench.gpu().sdma().copy(source, vram).copy(vram, back).signal(done, 1).submit());
  DOPPEL_TRY(done.wait(1, kPatience));
  const auto out = back.host_as<uint32_t>();
  for (uint32_t i = 0; i < kCount; ++i) {
    if (out[i] == in[i]) continue;
    return wrong(fmt::format("The copy differs from its source (dword {}: {:#x}, not {:#x}).", i,
                             out[i], in[i]));
  }
  return Done{fmt::format("{} KiB to VRAM and back", kCount * 4 >> 10)};
}

Result<Done> signal_by_pm4(Bench& bench) {
  DOPPEL_ASSIGN(const Signal done, bench.gpu().create_signal({.interrupt = false}));
  DOPPEL_TRY(bench.gpu().compute().signal(done, 7).submit());
  DOPPEL_TRY(done.wait(7, kPatience));
  return Done{};
}

Result<Done> sleep_for_interrupt(Bench& bench) {
  kfd::KfdEvents& events = bench.process->events();
  DOPPEL_ASSIGN(const Signal done, bench.gpu().create_signal());
  DOPPEL_TRY(events.wait(done.ref().event_id, 0));  // what earlier users of the event left
  DOPPEL_TRY(bench.gpu().compute().signal(done, 1).submit());
  DOPPEL_ASSIGN(const bool fired, events.wait(done.ref().event_id, 2000));
  if (!fired) {
    return wrong(
        fmt::format("No interrupt arrives; the signal's value is {} (expected 1).", done.value()));
  }
  return Done{fmt::format("event {}", done.ref().event_id)};
}

Result<Done> load_kernel(Bench& bench) {
  const auto file = code_object_for(bench.gpu().target());
  if (file.empty()) {
    return error(StatusCode::Unsupported,
                 fmt::format("This build has no device code for {}.", bench.gpu().target().name));
  }
  DOPPEL_ASSIGN(bench.program, bench.gpu().load_program(file));
  return Done{fmt::format("{} bytes for {}", file.size(), bench.gpu().target().name)};
}

Result<Done> run_kernel(Bench& bench, ComputeCommands commands) {
  constexpr uint32_t kScale = 3, kBias = 11;
  DOPPEL_ASSIGN(const Allocation in, bench.gpu().allocate(kCount * 4, kVisible));
  DOPPEL_ASSIGN(const Allocation out, bench.gpu().allocate(kCount * 4, kVisible));
  const auto values = in.host_as<uint32_t>();
  std::iota(values.begin(), values.end(), 1u);
  DOPPEL_ASSIGN(const Signal times, bench.gpu().create_signal({.interrupt = false}));
  commands.memory_barrier()
      .timestamp(times, Timestamp::Start)
      .exec(bench.program->kernel("scale_add"), args(out, in, kScale, kBias), kCount / kWorkgroup,
            kWorkgroup)
      .timestamp(times, Timestamp::End)
      .signal(times, 1);
  DOPPEL_TRY(commands.submit());
  DOPPEL_TRY(times.wait(1, kPatience));
  const auto results = out.host_as<uint32_t>();
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t expected = values[i] * kScale + kBias;
    if (results[i] == expected) continue;
    return wrong(fmt::format("The kernel's result is wrong (element {}: {:#x}, not {:#x}).", i,
                             results[i], expected));
  }
  if (times.end_ticks() < times.start_ticks()) {
    return wrong(fmt::format("The kernel ends before it starts (ticks {} to {}).",
                             times.start_ticks(), times.end_ticks()));
  }
  return Done{
      fmt::format("{} work-items in {} ticks", kCount, times.end_ticks() - times.start_ticks())};
}

Result<Done> flush_host_path(Bench& bench) {
  DOPPEL_TRY(bench.gpu().flush_host_writes());
  return Done{};
}

}  // namespace

void add_queue_steps(std::vector<Step>& steps) {
  const auto make = [](QueueKind kind) {
    return [kind](Bench& bench) { return make_queue(bench, kind); };
  };
  steps.push_back(
      {"device", "open the device", {"events", "drm-driver", "apertures", "clocks"}, open_gpu});
  steps.push_back({"sdma-queue", "create an SDMA queue", {"device"}, make(QueueKind::Sdma)});
  steps.push_back({"sdma-copy", "copy with the SDMA queue", {"sdma-queue"}, copy_by_sdma});
  steps.push_back({"pm4-queue", "create a compute queue (PM4)", {"device"}, make(QueueKind::Pm4)});
  steps.push_back({"pm4-signal", "signal from the PM4 queue", {"pm4-queue"}, signal_by_pm4});
  steps.push_back({"interrupt",
                   "sleep until the GPU's interrupt",
                   {"pm4-signal", "event-wait"},
                   sleep_for_interrupt});
  steps.push_back({"host-flush", "flush the host data path", {"pm4-signal"}, flush_host_path});
  steps.push_back({"program", "load a code object", {"device"}, load_kernel});
  steps.push_back(
      {"pm4-kernel", "run a kernel with PM4", {"pm4-signal", "program"}, [](Bench& bench) {
         return run_kernel(bench, bench.gpu().compute());
       }});
  steps.push_back({"aql-queue", "create a compute queue (AQL)", {"device"}, make(QueueKind::Aql)});
  steps.push_back(
      {"aql-kernel", "run a kernel with AQL", {"aql-queue", "program"}, [](Bench& bench) {
         return run_kernel(bench, bench.gpu().aql());
       }});
}

}  // namespace doppel::selftest
