// Graphs on the device itself: order, replay with everything changed, launches back to back and
// side by side, signals around a launch, profiles, and what is left after a fault.
#include <thread>

#include "core/graph.h"
#include "tests/conformance/conformance.h"

namespace doppel::conformance {
namespace {

constexpr uint32_t kCount = 1000;

class GraphTest : public ConformanceTest, public ::testing::WithParamInterface<GraphExecutor> {
 protected:
  GraphOptions options() const { return {.executor = GetParam()}; }
  GraphExec instantiate(const Graph& graph, const GraphOptions& with) {
    auto exec = graph.instantiate(gpu(), with);
    EXPECT_OK(exec);
    return *std::move(exec);
  }
  GraphExec instantiate(const Graph& graph) { return instantiate(graph, options()); }
  Allocation floats(float value, const AllocationOptions& memory = {}) {
    return upload(std::vector<float>(kCount, value), memory);
  }
  void expect_floats(const MemoryView& view, float value) {
    EXPECT_EQ(download<float>(view), std::vector<float>(kCount, value));
  }
};

INSTANTIATE_TEST_SUITE_P(Executors, GraphTest,
                         ::testing::Values(GraphExecutor::Pm4Sdma, GraphExecutor::Aql),
                         [](const auto& info) {
                           return info.param == GraphExecutor::Aql ? "aql" : "pm4";
                         });

/// y = alpha * x + y over all of y.
GraphNode saxpy(Graph& graph, const Program& program, const MemoryView& x, const MemoryView& y,
                float alpha) {
  return graph.kernel(program.kernel("saxpy"), args(x, y, alpha, kCount), 4, 256);
}

TEST_P(GraphTest, CopyKernelsCopyRunInOrder) {
  auto program = load("saxpy");
  if (!program) return;
  const AllocationOptions system{.domain = MemoryDomain::Gtt};
  const Allocation in = floats(3, system), out = floats(0, system);
  const Allocation x = allocate(in.size()), y = allocate(in.size());
  Graph graph;
  graph.copy(in, x);
  graph.fill(y, 0);
  saxpy(graph, *program, x, y, 2);
  saxpy(graph, *program, y, x, 10);
  graph.copy(x, out);
  auto exec = instantiate(graph);
  EXPECT_OK(exec.launch().wait());
  expect_floats(out, 63);
}

TEST_P(GraphTest, ReplayTakesNewBuffersValuesAndVariables) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation ones = floats(1), fives = floats(5), y = floats(0), z = floats(100);
  Graph graph;
  const auto alpha = graph.variable<float>("alpha");
  const GraphNode node =
      graph.kernel(program->kernel("saxpy"), args(ones, y, alpha, kCount), 4, 256);
  auto exec = instantiate(graph);
  exec.set(alpha, 2.0f);
  EXPECT_OK(exec.launch().wait());
  expect_floats(y, 2);
  exec.set(alpha, 4.0f);
  exec.set_buffer(node, 0, fives);
  EXPECT_OK(exec.launch().wait());
  expect_floats(y, 22);
  exec.set_buffer(node, 1, z);
  exec.set_scalar(node, 3, 0u);  // no elements
  EXPECT_OK(exec.launch().wait());
  expect_floats(z, 100);
  exec.set_scalar(node, 3, kCount);
  EXPECT_OK(exec.launch().wait());
  expect_floats(z, 120);
  expect_floats(y, 22);
}

TEST_P(GraphTest, ReplayTakesNewLaunchDimensions) {
  auto program = load("vector_add");
  if (!program) return;
  const Allocation a = floats(1), b = floats(2), out = floats(0);
  Graph graph;
  const GraphNode node =
      graph.kernel(program->kernel("vector_add"), args(a, b, out, kCount), 1, 32);
  auto exec = instantiate(graph);
  const auto written = [&] {
    const auto values = download<float>(out);
    return std::count(values.begin(), values.end(), 3.0f);
  };
  EXPECT_OK(exec.launch().wait());
  EXPECT_EQ(written(), 32);
  exec.set_dims(node, 2, 64);
  EXPECT_OK(exec.launch().wait());
  EXPECT_EQ(written(), 128);
  exec.set_dims(node, WorkItems(500), 256);  // the last workgroup is partial
  EXPECT_OK(exec.launch().wait());
  EXPECT_EQ(written(), 500);
}

TEST_P(GraphTest, LaunchesBackToBackDoNotOverlap) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = floats(1), y = floats(0), last = floats(0);
  Graph graph;
  saxpy(graph, *program, x, y, 1);
  graph.copy(y, last);
  saxpy(graph, *program, x, y, 1);
  auto exec = instantiate(graph);
  std::vector<GraphLaunch> launches;
  for (int n = 0; n < 50; ++n) launches.push_back(exec.launch());
  for (const GraphLaunch& launch : launches) EXPECT_OK(launch.wait());
  EXPECT_TRUE(launches.back().done());
  expect_floats(y, 100);
  expect_floats(last, 99);
}

TEST_P(GraphTest, TenThousandReplaysDoNotDrift) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation inputs[] = {floats(1), floats(2), floats(4)};
  const Allocation y = floats(0), copy = floats(0);
  Graph graph;
  const GraphNode node =
      graph.kernel(program->kernel("saxpy"), args(inputs[0], y, 1.0f, 64u), 1, 64);
  graph.copy(*y.slice(0, 256), *copy.slice(0, 256));
  auto exec = instantiate(graph);
  float expected = 0;
  for (int n = 0; n < 10'000; ++n) {
    EXPECT_TRUE(exec.set_buffer(node, 0, inputs[n % 3]));
    ASSERT_OK(exec.launch().status());
    expected += static_cast<float>(1 << n % 3);
  }
  EXPECT_OK(exec.launch().wait());
  expected += 1;
  EXPECT_EQ(download<float>(*copy.slice(0, 256)), std::vector<float>(64, expected));
  // That nothing has leaked is checked when the device closes.
}

TEST_P(GraphTest, CountsOfLaunchesStartAgain) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = floats(1), y = floats(0), last = floats(0);
  Graph graph;
  saxpy(graph, *program, x, y, 1);
  graph.copy(y, last);
  GraphOptions near_the_end = options();
  near_the_end.launch_count = (1u << 30) - 4;
  auto exec = instantiate(graph, near_the_end);
  std::vector<GraphLaunch> launches;
  for (int n = 0; n < 8; ++n) launches.push_back(exec.launch());
  for (const GraphLaunch& launch : launches) EXPECT_OK(launch.wait());
  for (const GraphLaunch& launch : launches) EXPECT_TRUE(launch.done());
  expect_floats(last, 8);
}

/// The ring holds one launch and a bit: each waits for room, and they cross its end everywhere.
TEST_P(GraphTest, LaunchesWrapASmallRing) {
  auto program = load("saxpy");
  if (!program) return;
  const auto kind = GetParam() == GraphExecutor::Aql ? QueueKind::Aql : QueueKind::Pm4;
  const auto compute = make_queue({.kind = kind, .ring_bytes = 4096}),
             sdma = make_queue({.kind = QueueKind::Sdma, .ring_bytes = 4096});
  const Allocation x = floats(1), y = floats(0), last = floats(0);
  Graph graph;
  for (int n = 0; n < 37; ++n) saxpy(graph, *program, x, y, 1);
  graph.copy(y, last);
  GraphOptions with = options();
  with.queues = {compute.get(), sdma.get()};
  auto exec = instantiate(graph, with);
  for (int n = 0; n < 40; ++n) ASSERT_OK(exec.launch().status());
  EXPECT_OK(exec.launch().wait());
  expect_floats(last, 37 * 41);
}

TEST_P(GraphTest, ARefusedLaunchSubmitsNothing) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = floats(1), y = floats(0), z = floats(0);
  Graph graph;
  const auto alpha = graph.variable<float>("alpha");
  graph.kernel(program->kernel("saxpy"), args(x, y, alpha, kCount), 4, 256);
  const GraphNode copy = graph.copy(*x.slice(0, 2000), *z.slice(0, 2000));
  auto exec = instantiate(graph);
  const auto submitted = [&] {
    std::vector<uint64_t> counts;
    for (QueueKind kind : {QueueKind::Pm4, QueueKind::Aql, QueueKind::Sdma})
      counts.push_back((*gpu().default_queue(kind))->submitted());
    return counts;
  };
  const auto before = submitted();
  EXPECT_ERROR(exec.launch().wait(), StatusCode::InvalidArgument, "alpha");
  exec.set(alpha, 2.0f);
  exec.set_buffer(copy, 0, *y.slice(0, 2000));  // what the kernel writes at the same time
  EXPECT_ERROR(exec.launch().wait(), StatusCode::InvalidArgument, "Node 1 (copy)");
  EXPECT_EQ(submitted(), before);
  exec.set_buffer(copy, 0, *x.slice(0, 2000));
  EXPECT_OK(exec.launch().wait());
  EXPECT_NE(submitted(), before);
  expect_floats(y, 2);
}

TEST_P(GraphTest, GraphsOfSeveralThreadsShareTheQueues) {
  auto program = load("saxpy");
  if (!program) return;
  constexpr int kThreads = 3, kLaunches = 40;
  const Allocation x = floats(1);
  std::vector<Allocation> sums, copies;
  std::vector<GraphExec> execs;
  for (int t = 0; t < kThreads; ++t) {
    sums.push_back(floats(0));
    copies.push_back(floats(0));
    Graph graph;
    saxpy(graph, *program, x, sums[t], static_cast<float>(t + 1));
    graph.copy(sums[t], copies[t]);
    saxpy(graph, *program, copies[t], sums[t], 0);
    execs.push_back(instantiate(graph));
  }
  std::vector<Result<>> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < kLaunches && results[t]; ++n) results[t] = execs[t].launch().status();
      if (results[t]) results[t] = execs[t].launch().wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_OK(results[t]);
    expect_floats(copies[t], static_cast<float>((t + 1) * (kLaunches + 1)));
  }
}

TEST_P(GraphTest, WaitsForWhatWasSubmittedBefore) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = floats(1), y = floats(0), out = floats(0);
  Graph graph;
  graph.copy(y, out);  // on the SDMA queue
  saxpy(graph, *program, x, y, 0);
  auto exec = instantiate(graph);
  auto before = GetParam() == GraphExecutor::Aql ? gpu().aql() : gpu().compute();
  EXPECT_OK(before.exec(program->kernel("saxpy"), args(x, y, 7.0f, kCount), 4, 256).submit());
  EXPECT_OK(exec.launch().wait());
  expect_floats(out, 7);
}

TEST_P(GraphTest, ALaunchWaitsForASignalAndGivesOne) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = floats(1), y = floats(0), out = floats(0);
  Graph graph;
  saxpy(graph, *program, x, y, 3);
  graph.copy(y, out);
  auto exec = instantiate(graph);
  Signal go = make_signal(), done = make_signal();
  const GraphLaunch launch =
      exec.launch({.wait = &go, .wait_value = 5, .signal = &done, .signal_value = 9});
  EXPECT_OK(launch.status());
  EXPECT_FALSE(launch.done());
  EXPECT_EQ(done.value(), 0);
  go.set(5);
  EXPECT_OK(done.wait(9));
  EXPECT_OK(launch.wait());
  expect_floats(out, 3);
}

TEST_P(GraphTest, TransfersAloneNeedNoComputeQueue) {
  const auto data = pattern(3'000'000);  // several packets of 4 MiB
  const Allocation a = upload(data), b = allocate(a.size()), c = allocate(a.size());
  Graph graph;
  graph.copy(a, b);
  graph.fill(*b.slice(0, 64), 0xfeed);
  const GraphNode last = graph.copy(b, c);
  auto exec = instantiate(graph);
  EXPECT_OK(exec.launch().wait());
  auto expected = data;
  std::fill_n(expected.begin(), 16, 0xfeedu);
  EXPECT_EQ(download<uint32_t>(c), expected);
  const Allocation d = allocate(a.size());
  exec.set_buffer(last, 1, d);
  EXPECT_OK(exec.launch().wait());
  EXPECT_EQ(download<uint32_t>(d), expected);
}

TEST_P(GraphTest, AKernelWithScratchAndOneThatReadsItsPacket) {
  auto scratch = load("scratch");
  auto saxpy_program = load("saxpy.cov4");
  if (!scratch || !saxpy_program) return;
  const auto data = pattern(64);
  const Allocation in = upload(data), once = allocate(256), twice = allocate(256);
  const auto launch = [&](const Allocation& out) { return args(in, out, 5u, 64u); };
  EXPECT_OK(gpu().compute().exec(scratch->kernel("scratch_dynamic"), launch(once), 1, 64).submit());
  EXPECT_OK(gpu().synchronize());
  const Allocation x = floats(1), y = floats(0);
  Graph graph;
  graph.kernel(scratch->kernel("scratch_dynamic"), launch(twice), 1, 64);
  const GraphNode node = saxpy(graph, *saxpy_program, x, y, 2);
  auto exec = instantiate(graph);
  EXPECT_OK(exec.launch().wait());
  EXPECT_EQ(download<uint32_t>(twice), download<uint32_t>(once));
  expect_floats(y, 2);
  // A grid-stride loop: right only if the kernel sees the new grid size in its packet.
  exec.set_dims(node, 1, 64);
  EXPECT_OK(exec.launch().wait());
  expect_floats(y, 4);
}

TEST_P(GraphTest, ProfilesAreOneTimeline) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = floats(1), y = floats(0), out = floats(0);
  Graph graph;
  const GraphNode first = saxpy(graph, *program, x, y, 1);
  const GraphNode copy = graph.copy(y, out, {.name = "download"});
  const GraphNode last = saxpy(graph, *program, x, y, 1);
  auto exec = instantiate(graph, {.executor = GetParam(), .profile = true});
  EXPECT_FALSE(exec.profile());
  EXPECT_OK(exec.launch().wait());
  const auto profile = exec.profile();
  ASSERT_OK(profile);
  ASSERT_EQ(profile->size(), 3u);
  for (const GraphNodeProfile& node : *profile) {
    EXPECT_EQ(node.device, &gpu());
    EXPECT_GT(node.start_ns, 0);
    EXPECT_GE(node.end_ns, node.start_ns) << node.name;
  }
  const auto& at = *profile;
  EXPECT_EQ(at[copy.index()].name, "download");
  EXPECT_EQ(at[copy.index()].queue, QueueKind::Sdma);
  EXPECT_NE(at[first.index()].queue, QueueKind::Sdma);
  EXPECT_LE(at[first.index()].end_ns, at[copy.index()].start_ns);
  EXPECT_LE(at[copy.index()].end_ns, at[last.index()].start_ns);
}

TEST_P(GraphTest, AFaultStopsThisGraphAndNotItsNeighbours) {
  auto faults = load("faults");
  auto program = load("saxpy");
  if (!faults || !program) return;
  expect_fault();
  const Allocation out = allocate(4096), x = floats(1), y = floats(0), z = floats(0);
  const auto kind = GetParam() == GraphExecutor::Aql ? QueueKind::Aql : QueueKind::Pm4;
  const auto victim = make_queue({.kind = kind}),
             victim_sdma = make_queue({.kind = QueueKind::Sdma});
  Allocation gone = allocate(uint64_t{1} << 21);
  Graph bad, good;
  bad.kernel(faults->kernel("store_at"), args(out, gone.gpu_address() + 4096, 3u), 1, 64);
  bad.copy(*out.slice(0, 2048), *out.slice(2048, 2048));
  saxpy(good, *program, x, y, 2);
  good.copy(y, z);
  GraphOptions with = options();
  with.queues = {victim.get(), victim_sdma.get()};
  auto bad_exec = instantiate(bad, with);
  auto good_exec = instantiate(good);
  EXPECT_OK(gone.release());
  const auto fault = bad_exec.launch().wait();
  ASSERT_FALSE(fault);
  EXPECT_EQ(fault.error().code(), StatusCode::DeviceFault) << fault.error().to_string();
  EXPECT_ERROR(bad_exec.launch().status(), StatusCode::DeviceFault, "");
  EXPECT_OK(good_exec.launch().wait());
  EXPECT_OK(good_exec.launch().wait());
  expect_floats(z, 4);

  // The graph itself is none the worse: on queues that run, it runs.
  const Allocation there = allocate(uint64_t{1} << 21);
  Graph mended;
  mended.kernel(faults->kernel("store_at"), args(out, there.gpu_address() + 4096, 3u), 1, 64);
  mended.copy(*out.slice(0, 2048), *out.slice(2048, 2048));
  auto mended_exec = instantiate(mended);
  EXPECT_OK(mended_exec.launch().wait());
}

}  // namespace
}  // namespace doppel::conformance
