// Graphs on one GPU and on two, and the way down.
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "core/graph.h"
#include "tools/selftest/bench.h"
#include "tools/selftest/kernels.h"

namespace doppel::selftest {
namespace {

constexpr uint32_t kCount = 2048;
constexpr uint32_t kBytes = kCount * 4;
constexpr uint32_t kWorkgroup = 64;
constexpr AllocationOptions kVisible{.domain = MemoryDomain::Gtt};

Result<> expect_scaled(std::span<const uint32_t> out, uint32_t scale, uint32_t bias) {
  for (uint32_t i = 0; i < kCount; ++i) {
    if (out[i] == i * scale + bias) continue;
    return wrong(fmt::format("The graph's result is wrong (element {}: {:#x}, not {:#x}).", i,
                             out[i], i * scale + bias));
  }
  return {};
}

Result<Done> run_graph(Bench& bench) {
  Device& gpu = bench.gpu();
  DOPPEL_ASSIGN(const Allocation host, gpu.allocate(kBytes, kVisible));
  DOPPEL_ASSIGN(const Allocation x, gpu.allocate(kBytes));
  DOPPEL_ASSIGN(const Allocation y, gpu.allocate(kBytes));
  DOPPEL_ASSIGN(const Allocation back, gpu.allocate(kBytes, kVisible));
  const auto values = host.host_as<uint32_t>();
  std::iota(values.begin(), values.end(), 0u);

  Graph graph;
  graph.copy(host, x);
  const GraphNode kernel =
      graph.kernel(bench.program->kernel("scale_add"), args(y, x, uint32_t{2}, uint32_t{1}),
                   kCount / kWorkgroup, kWorkgroup);
  graph.copy(y, back);
  DOPPEL_ASSIGN(GraphExec exec, graph.instantiate(gpu));
  DOPPEL_TRY(exec.launch().wait(kPatience));
  DOPPEL_TRY(expect_scaled(back.host_as<uint32_t>(), 2, 1));
  DOPPEL_TRY(exec.set_scalar(kernel, 2, uint32_t{5}));
  DOPPEL_TRY(exec.launch().wait(kPatience));
  DOPPEL_TRY(expect_scaled(back.host_as<uint32_t>(), 5, 1));
  return Done{
      fmt::format("{} nodes, launched twice ({})", graph.size(), to_string(exec.executor()))};
}

Result<Done> open_second_gpu(Bench& bench) {
  const size_t gpus = bench.process->topology().gpus().size();
  if (gpus < 2) return not_applicable("the machine has one GPU");
  const uint32_t other = bench.gpu_index == 0 ? 1 : 0;
  DOPPEL_ASSIGN(auto device, kfd::KfdDevice::open(bench.process, other, "second gpu"));
  bench.devices.push_back(std::move(device));
  return Done{fmt::format("{} at {}", bench.devices[1]->target().name,
                          bench.devices[1]->info().pci_address)};
}

Result<Done> copy_from_peer(Bench& bench) {
  Device &first = bench.gpu(), &second = *bench.devices[1];
  DOPPEL_ASSIGN(const Allocation theirs, first.allocate(kBytes));
  DOPPEL_ASSIGN(const Allocation back, second.allocate(kBytes, kVisible));
  std::vector<uint32_t> values(kCount);
  std::iota(values.begin(), values.end(), 0u);
  DOPPEL_TRY(first.write(theirs, values));
  DOPPEL_TRY(second.map(theirs));
  DOPPEL_ASSIGN(const Signal done, second.create_signal({.interrupt = false}));
  DOPPEL_TRY(second.sdma().copy(theirs, back).signal(done, 1).submit());
  DOPPEL_TRY(done.wait(1, kPatience));
  DOPPEL_TRY(expect_scaled(back.host_as<uint32_t>(), 1, 0));
  return Done{fmt::format("{} KiB", kBytes >> 10)};
}

/// Each GPU scales once: the second reads what the first has written.
Result<Done> run_graph_on_two(Bench& bench) {
  Device &first = bench.gpu(), &second = *bench.devices[1];
  const auto file = code_object_for(second.target());
  DOPPEL_ASSIGN(const Program program, second.load_program(file));
  DOPPEL_ASSIGN(const Allocation host, first.allocate(kBytes, kVisible));
  DOPPEL_ASSIGN(const Allocation x, first.allocate(kBytes));
  DOPPEL_ASSIGN(const Allocation y, first.allocate(kBytes));
  DOPPEL_ASSIGN(const Allocation z, second.allocate(kBytes, kVisible));
  const auto values = host.host_as<uint32_t>();
  std::iota(values.begin(), values.end(), 0u);

  Graph graph;
  graph.copy(host, x);
  graph.kernel(bench.program->kernel("scale_add"), args(y, x, uint32_t{3}, uint32_t{1}),
               kCount / kWorkgroup, kWorkgroup);
  graph.kernel(program.kernel("scale_add"), args(z, y, uint32_t{2}, uint32_t{5}),
               kCount / kWorkgroup, kWorkgroup);
  const std::array<Device*, 2> devices{&first, &second};
  DOPPEL_ASSIGN(GraphExec exec, graph.instantiate(devices, {.map_peers = true}));
  DOPPEL_TRY(exec.launch().wait(kPatience));
  DOPPEL_TRY(expect_scaled(z.host_as<uint32_t>(), 6, 7));
  return Done{fmt::format("{} nodes on 2 GPUs ({})", graph.size(), to_string(exec.executor()))};
}

Result<Done> close_devices(Bench& bench) {
  bench.program.reset();
  for (const auto& device : bench.devices) DOPPEL_TRY(device->close());
  return Done{fmt::format("{} closed, nothing leaked", bench.devices.size())};
}

}  // namespace

void add_graph_steps(std::vector<Step>& steps) {
  steps.push_back({"graph", "run a graph", {"sdma-copy", "pm4-kernel"}, run_graph});
  steps.push_back({"second-gpu", "open a second GPU", {"device"}, open_second_gpu});
  steps.push_back({"peer-copy",
                   "copy from the other GPU's memory",
                   {"second-gpu", "sdma-copy"},
                   copy_from_peer});
  steps.push_back(
      {"multi-gpu-graph", "run a graph on two GPUs", {"graph", "peer-copy"}, run_graph_on_two});
  steps.push_back({"close", "close without leaks", {"device"}, close_devices});
}

}  // namespace doppel::selftest
