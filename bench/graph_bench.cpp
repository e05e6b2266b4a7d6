// Host cost of a graph of n dependent kernels, per node: building it, launching it as it is,
// launching it with every node changed, and encoding the same commands afresh. Nothing runs: the
// device keeps submissions, so that only the runtime's own work is measured.
#include <benchmark/benchmark.h>

#include "core/commands.h"
#include "tests/core/graph/graph_world.h"

namespace {

using namespace doppel;

constexpr uint32_t kCount = test::GraphWorld::kWords;

/// n kernels that each read what the one before wrote.
struct Chain {
  test::GraphWorld world;
  Graph graph;
  std::vector<GraphNode> nodes;
  GraphExecutor executor;

  explicit Chain(const benchmark::State& state)
      : executor(static_cast<GraphExecutor>(state.range(1))) {
    world.devices[0].queue_dwords = uint64_t{1} << 24;
    record(graph, state.range(0));
  }
  void record(Graph& into, int64_t count) {
    for (int64_t n = 0; n < count; ++n)
      nodes.push_back(into.kernel(world.kernel("affine"), arguments(n), 4, 256));
  }
  KernelArgs arguments(int64_t n) const {
    return args(world.buffers[n % 2], writes(world.buffers[(n + 1) % 2]), 3u, 1u, kCount);
  }
  void forget() {
    for (QueueKind kind : {QueueKind::Pm4, QueueKind::Aql})
      world.devices[0].queue(kind).submissions.clear();
  }
};

void count_nodes(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void build(benchmark::State& state) {
  Chain chain(state);
  for (auto _ : state) {
    Graph graph;
    chain.record(graph, state.range(0));
    benchmark::DoNotOptimize(
        graph.instantiate(chain.world.devices[0], {.executor = chain.executor}));
    chain.nodes.clear();
  }
  count_nodes(state);
}

void launch(benchmark::State& state) {
  Chain chain(state);
  auto exec = chain.graph.instantiate(chain.world.devices[0], {.executor = chain.executor});
  for (auto _ : state) {
    if (!exec->launch().status()) state.SkipWithError("the launch is refused");
    chain.forget();
  }
  count_nodes(state);
}

void patch_all_and_launch(benchmark::State& state) {
  Chain chain(state);
  auto exec = chain.graph.instantiate(chain.world.devices[0], {.executor = chain.executor});
  uint32_t factor = 0;
  for (auto _ : state) {
    ++factor;
    for (const GraphNode& node : chain.nodes) exec->set_scalar(node, 2, factor);
    if (!exec->launch().status()) state.SkipWithError("the launch is refused");
    chain.forget();
  }
  count_nodes(state);
}

void encode_afresh(benchmark::State& state) {
  Chain chain(state);
  const auto kernel = chain.world.kernel("affine");
  const bool is_aql = chain.executor == GraphExecutor::Aql;
  for (auto _ : state) {
    auto commands = is_aql ? chain.world.devices[0].aql() : chain.world.devices[0].compute();
    for (int64_t n = 0; n < state.range(0); ++n) commands.exec(kernel, chain.arguments(n), 4, 256);
    if (!commands.submit()) state.SkipWithError("the submission is refused");
    chain.forget();
  }
  count_nodes(state);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"nodes", "executor"});
  for (GraphExecutor executor : {GraphExecutor::Pm4Sdma, GraphExecutor::Aql})
    for (int64_t nodes : {10, 100, 1000, 10'000})
      benchmark->Args({nodes, static_cast<int64_t>(executor)});
}
BENCHMARK(build)->Apply(sizes);
BENCHMARK(launch)->Apply(sizes);
BENCHMARK(patch_all_and_launch)->Apply(sizes);
BENCHMARK(encode_afresh)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
