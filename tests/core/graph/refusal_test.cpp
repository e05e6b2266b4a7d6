// What a graph refuses, and that a refusal names the node, changes nothing and submits nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/graph/graph_world.h"

namespace doppel::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Dim3 kGrid(4), kWorkgroup(256);

template <class T>
Status refusal(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? Status(StatusCode::System, "nothing was refused") : result.error();
}

class GraphRefuses : public testing::TestWithParam<GraphExecutor> {
 protected:
  GraphOptions options() const { return {.executor = GetParam()}; }
  Result<GraphExec> instantiate() { return graph.instantiate(world.all(), options()); }
  QueueKind compute_kind() const {
    return GetParam() == GraphExecutor::Aql ? QueueKind::Aql : QueueKind::Pm4;
  }
  GraphNode affine(uint32_t in, uint32_t out, GraphNodeOptions node_options = {}) {
    return graph.kernel(
        world.kernel("affine"),
        args(world.buffers[in], writes(world.buffers[out]), 2u, 1u, GraphWorld::kWords), kGrid,
        kWorkgroup, std::move(node_options));
  }
  size_t submissions() {
    size_t count = 0;
    for (FakeDevice& device : world.devices)
      for (QueueKind kind : {QueueKind::Pm4, QueueKind::Aql, QueueKind::Sdma})
        count += device.queue(kind).submissions.size();
    return count;
  }

  GraphWorld world{{.devices = 2}};  // buffers 0 to 3 on the first device, 4 to 7 on the second
  Graph graph;
};

INSTANTIATE_TEST_SUITE_P(, GraphRefuses,
                         testing::Values(GraphExecutor::Pm4Sdma, GraphExecutor::Aql),
                         [](const auto& info) {
                           return info.param == GraphExecutor::Aql ? "Aql" : "Pm4";
                         });

TEST_P(GraphRefuses, AnEmptyGraph) {
  EXPECT_THAT(refusal(instantiate()).message(), HasSubstr("is empty"));
}

TEST_P(GraphRefuses, ACycleOfExplicitEdges) {
  const GraphNode first = affine(0, 1, {.name = "first"});
  const GraphNode second = affine(2, 3, {.name = "second", .after = {first}});
  graph.add_edge(second, first);
  EXPECT_THAT(refusal(instantiate()).message(),
              AllOf(HasSubstr("cycle"), HasSubstr("Node 0 (first)"), HasSubstr("Node 1 (second)")));
}

TEST_P(GraphRefuses, AnEdgeToANodeOfAnotherGraph) {
  Graph other;
  const GraphNode foreign = other.fill(world.buffers[0], 1);
  affine(0, 1, {.after = {foreign}});
  EXPECT_THAT(refusal(instantiate()).message(), HasSubstr("not both of this graph"));
}

TEST_P(GraphRefuses, MemoryThatThePeerDoesNotMap) {
  affine(0, 1);
  graph.kernel(world.kernel("affine", 1),
               args(world.buffers[1], world.buffers[4], 2u, 1u, GraphWorld::kWords), kGrid,
               kWorkgroup);
  const Status status = refusal(instantiate());
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("Node 1 (affine)"), HasSubstr("fake:1")));
  ASSERT_TRUE(world.devices[1].map(world.buffers[1]));
  EXPECT_TRUE(instantiate());
}

TEST_P(GraphRefuses, NoPeerIfItIsToMapItself) {
  graph.copy(world.buffers[0], world.buffers[4]);
  EXPECT_FALSE(instantiate());
  const auto exec = graph.instantiate(world.all(), {.executor = GetParam(), .map_peers = true});
  ASSERT_TRUE(exec) << exec.error().to_string();
  EXPECT_TRUE(world.devices[0].is_mapped(world.buffers[4]));
}

TEST_P(GraphRefuses, ANodeOnADeviceThatIsNotGiven) {
  affine(0, 1);
  const Status status = refusal(graph.instantiate(world.devices[1], options()));
  EXPECT_THAT(status.message(), HasSubstr("Node 0 (affine) runs on a device"));
}

TEST_P(GraphRefuses, AKernelThatDoesNotExist) {
  affine(0, 1);
  graph.kernel(world.kernel("afine"), args(), kGrid, kWorkgroup);
  const Status status = refusal(instantiate());
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("Node 1"), HasSubstr("afine")));
}

TEST_P(GraphRefuses, ArgumentsThatDoNotFit) {
  graph.kernel(world.kernel("affine"),
               args(world.buffers[0], world.buffers[1], 2u, 1.0, GraphWorld::kWords), kGrid,
               kWorkgroup);
  EXPECT_THAT(refusal(instantiate()).message(),
              AllOf(HasSubstr("Node 0 (affine)"), HasSubstr("Argument 3")));
}

TEST_P(GraphRefuses, AFreedBuffer) {
  const Allocation gone = std::move(world.buffers[2]);
  affine(2, 1);
  EXPECT_THAT(refusal(instantiate()).message(),
              AllOf(HasSubstr("Node 0 (affine)"), HasSubstr("empty allocation")));
}

TEST_P(GraphRefuses, LaunchDimensionsOverTheLimit) {
  graph.kernel(world.kernel("affine"),
               args(world.buffers[0], world.buffers[1], 2u, 1u, GraphWorld::kWords), 1,
               Dim3(1024, 2));
  EXPECT_THAT(refusal(instantiate()).message(),
              AllOf(HasSubstr("Node 0 (affine)"), HasSubstr("1024x2x1")));
}

TEST_P(GraphRefuses, AGridBeyond32Bits) {
  graph.kernel(world.kernel("affine"),
               args(world.buffers[0], world.buffers[1], 2u, 1u, GraphWorld::kWords), Dim3(1u << 30),
               1024);
  const Status status = refusal(instantiate());
  EXPECT_EQ(status.code(), StatusCode::OutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("Node 0 (affine)"));
}

TEST_P(GraphRefuses, TransfersThatMakeNoSense) {
  const auto message = [&](auto record) {
    Graph bad;
    record(bad);
    return refusal(bad.instantiate(world.all(), options())).message();
  };
  EXPECT_THAT(message([&](Graph& g) { g.copy(world.slice(0, 0, 64), world.slice(1, 0, 128)); }),
              AllOf(HasSubstr("Node 0 (copy)"), HasSubstr("(64 bytes)"), HasSubstr("(128 bytes)")));
  EXPECT_THAT(message([&](Graph& g) { g.copy(world.slice(0, 0, 64), world.slice(0, 60, 64)); }),
              AllOf(HasSubstr("Node 0 (copy)"), HasSubstr("overlap")));
  EXPECT_THAT(message([&](Graph& g) { g.fill(world.slice(0, 2, 64), 1); }),
              AllOf(HasSubstr("Node 0 (fill)"), HasSubstr("whole dwords")));
  EXPECT_THAT(message([&](Graph& g) {
                g.copy({.gpu_address = 4096, .size = 64}, {8192, 64});
              }),
              AllOf(HasSubstr("Node 0 (copy)"), HasSubstr("whose engine")));
}

TEST_P(GraphRefuses, ToLaunchWithoutAVariable) {
  const auto factor = graph.variable<uint32_t>("factor");
  static_cast<void>(graph.variable<uint32_t>("unused"));  // no node takes it
  graph.kernel(world.kernel("affine"),
               args(world.buffers[0], world.buffers[1], factor, 1u, GraphWorld::kWords), kGrid,
               kWorkgroup);
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  const GraphLaunch launch = exec->launch();
  EXPECT_THAT(refusal(launch.wait()).message(),
              AllOf(HasSubstr("factor"), HasSubstr("Node 0 (affine)"), HasSubstr("argument 2")));
  EXPECT_TRUE(launch.done());
  EXPECT_EQ(submissions(), 0u);
  EXPECT_TRUE(exec->set(factor, 3u));
  EXPECT_TRUE(exec->launch().wait());
  EXPECT_GT(submissions(), 0u);
}

TEST_P(GraphRefuses, AVariableOfAnotherGraphOrAsAPlainValue) {
  Graph other;
  const auto foreign = other.variable<uint64_t>("foreign");
  const auto own = graph.variable<uint32_t>("own");
  const GraphNode node = graph.kernel(
      world.kernel("affine"), args(world.buffers[0], world.buffers[1], own, 1u, GraphWorld::kWords),
      kGrid, kWorkgroup);
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  EXPECT_THAT(refusal(exec->set(foreign, 1u)).message(), HasSubstr("not of this graph"));
  EXPECT_THAT(refusal(exec->set_scalar(node, 2, 1u)).message(), HasSubstr("set the variable"));

  graph.kernel(world.kernel("affine"),
               args(world.buffers[0], world.buffers[1], foreign, 1u, GraphWorld::kWords), kGrid,
               kWorkgroup);
  EXPECT_FALSE(instantiate());
}

TEST_P(GraphRefuses, AGraphLargerThanTheQueue) {
  for (uint32_t n = 0; n < 100; ++n) affine(0, 1);
  world.devices[0].queue_dwords = 64 * 16;
  const auto exec = instantiate();
  if (GetParam() == GraphExecutor::Pm4Sdma) {
    EXPECT_TRUE(exec) << "only a short frame goes into a PM4 ring";
    return;
  }
  const Status status = refusal(exec);
  EXPECT_EQ(status.code(), StatusCode::Exhausted);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("(affine)"), HasSubstr("fake:0"), HasSubstr("64 packets")));

  const auto large = world.devices[0].create_queue({.kind = QueueKind::Aql});
  GraphOptions with_queue = options();
  with_queue.queues = {large->get()};
  EXPECT_TRUE(graph.instantiate(world.all(), with_queue));
}

TEST_P(GraphRefuses, ChangesThatDoNotFit) {
  const GraphNode kernel = affine(0, 1);
  const GraphNode copy = graph.copy(world.slice(1, 0, 64), world.slice(2, 0, 64));
  const GraphNode fill = graph.fill(world.slice(3, 0, 64), 7);
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  const auto message = [](const Result<>& result) { return refusal(result).message(); };
  EXPECT_THAT(message(exec->set_buffer(kernel, 5, world.buffers[2])),
              AllOf(HasSubstr("Node 0 (affine)"), HasSubstr("no argument 5")));
  EXPECT_THAT(message(exec->set_buffer(kernel, 2, world.buffers[2])),
              AllOf(HasSubstr("Node 0 (affine)"), HasSubstr("not a buffer")));
  EXPECT_THAT(message(exec->set_buffer(kernel, 0, world.buffers[4])), HasSubstr("not mapped"));
  EXPECT_THAT(message(exec->set_buffer(copy, 2, world.buffers[2])),
              AllOf(HasSubstr("Node 1 (copy)"), HasSubstr("no buffer 2")));
  EXPECT_THAT(message(exec->set_buffer(copy, 0, world.slice(0, 0, 32))),
              AllOf(HasSubstr("Node 1 (copy)"), HasSubstr("64 bytes"), HasSubstr("has 32")));
  EXPECT_THAT(message(exec->set_buffer(fill, 1, world.buffers[2])), HasSubstr("no buffer 1"));
  EXPECT_THAT(message(exec->set_scalar(kernel, 2, uint64_t{1})), HasSubstr("4 bytes"));
  EXPECT_THAT(message(exec->set_scalar(kernel, 0, 1u)), HasSubstr("not a value"));
  EXPECT_THAT(message(exec->set_scalar(copy, 0, 1u)), HasSubstr("no kernel"));
  EXPECT_THAT(message(exec->set_dims(copy, 1, 1)), HasSubstr("no kernel"));
  EXPECT_THAT(message(exec->set_dims(kernel, 0, 1)), HasSubstr("empty axis"));
  EXPECT_THAT(message(exec->set_dims(kernel, 1, 2048)), HasSubstr("2048"));
  EXPECT_THAT(message(exec->set_pattern(kernel, 1)), HasSubstr("no fill"));
  EXPECT_THAT(message(exec->set_buffer(GraphNode(), 0, world.buffers[2])),
              HasSubstr("not of this graph"));
  EXPECT_THAT(refusal(exec->profile()).message(), HasSubstr("GraphOptions::profile"));
}

TEST_P(GraphRefuses, ToLaunchAfterARefusedChangeOnceOnly) {
  const GraphNode kernel = affine(0, 1);
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  EXPECT_FALSE(exec->set_buffer(kernel, 9, world.buffers[2]));
  EXPECT_FALSE(exec->set_dims(kernel, 0, 1));
  EXPECT_THAT(refusal(exec->launch().wait()).message(), HasSubstr("no argument 9"));
  EXPECT_EQ(submissions(), 0u);
  EXPECT_TRUE(exec->launch().wait());
}

TEST_P(GraphRefuses, BuffersThatRaceUntilTheyNoLongerDo) {
  affine(0, 1, {.name = "writer"});
  const GraphNode copy = graph.copy(world.slice(2, 0, 64), world.slice(3, 0, 64));
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  EXPECT_TRUE(exec->set_buffer(copy, 0, world.slice(1, 0, 64)));
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(refusal(exec->launch().wait()).message(),
                AllOf(HasSubstr("Node 0 (writer) and Node 1 (copy)"), HasSubstr("64 bytes")));
  }
  EXPECT_EQ(submissions(), 0u);
  EXPECT_TRUE(exec->set_buffer(copy, 0, world.slice(2, 64, 64)));
  EXPECT_TRUE(exec->launch().wait());
}

TEST_P(GraphRefuses, ACopyOntoItselfOnlyWhenBothSidesAreBound) {
  const GraphNode copy = graph.copy(world.slice(0, 0, 64), world.slice(0, 64, 64));
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  EXPECT_TRUE(exec->set_buffer(copy, 0, world.slice(0, 64, 64)));
  EXPECT_THAT(refusal(exec->launch().wait()).message(),
              AllOf(HasSubstr("Node 0 (copy)"), HasSubstr("overlap")));
  EXPECT_TRUE(exec->set_buffer(copy, 1, world.slice(0, 0, 64)));
  EXPECT_TRUE(exec->launch().wait());
}

TEST_P(GraphRefuses, ToSubmitToSomeQueuesOnly) {
  affine(0, 1);
  graph.copy(world.slice(1, 0, 64), world.slice(2, 0, 64));
  graph.fill(world.slice(4, 0, 64), 1);
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  FakeQueue* const queues[] = {&world.devices[0].queue(compute_kind()),
                               &world.devices[0].queue(QueueKind::Sdma),
                               &world.devices[1].queue(QueueKind::Sdma)};
  for (FakeQueue* queue : queues) {
    queue->refusal = Status(StatusCode::Timeout, "The ring is full.");
    const GraphLaunch launch = exec->launch();
    EXPECT_EQ(refusal(launch.wait()).code(), StatusCode::Timeout);
    EXPECT_EQ(submissions(), 0u);
  }
  EXPECT_TRUE(exec->launch().wait());
  EXPECT_EQ(submissions(), 3u);
}

TEST_P(GraphRefuses, NothingWhenAProgramIsFreedBeforeTheGraph) {
  affine(0, 1);
  world.programs.clear();
  auto exec = instantiate();
  ASSERT_TRUE(exec) << exec.error().to_string();
  const size_t allocations = world.memory.live_allocations.size();
  graph = Graph();
  EXPECT_EQ(world.memory.live_allocations.size(), allocations) << "the exec keeps the program";
  EXPECT_TRUE(exec->launch().wait());
}

TEST(GraphExecutors, CountLaunchesInThirtyBits) {
  GraphWorld world;
  Graph graph;
  graph.kernel(world.kernel("affine"),
               args(world.buffers[0], world.buffers[1], 2u, 1u, GraphWorld::kWords), kGrid,
               kWorkgroup);
  graph.copy(world.buffers[1], world.buffers[2]);
  constexpr uint32_t kLast = (1u << 30) - 1;
  EXPECT_THAT(refusal(graph.instantiate(world.devices[0], {.launch_count = kLast + 1})).message(),
              HasSubstr("(1073741824)"));
  auto exec = graph.instantiate(world.devices[0], {.launch_count = kLast - 1});
  ASSERT_TRUE(exec) << exec.error().to_string();
  for (int launch = 0; launch < 2; ++launch) EXPECT_TRUE(exec->launch().status());
  // The last store of the SDMA queue's frame says that its steps are complete: twice the count.
  const auto& submissions = world.devices[0].queue(QueueKind::Sdma).submissions;
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[0].commands.dwords().back(), 2 * kLast);
  EXPECT_EQ(submissions[1].commands.dwords().back(), 2u);
}

TEST(GraphExecutors, AutoTakesAqlWhereADeviceHasNoPm4Queues) {
  GraphWorld world({.devices = 2});
  world.devices[1].has_pm4 = false;
  Graph graph;
  graph.fill(world.buffers[0], 1);
  EXPECT_EQ(graph.instantiate(world.devices[0])->executor(), GraphExecutor::Pm4Sdma);
  EXPECT_EQ(graph.instantiate(world.all())->executor(), GraphExecutor::Aql);
}

TEST_P(GraphRefuses, NoMemoryOrSignalIsLeftBehind) {
  affine(0, 1);
  graph.copy(world.slice(1, 0, 64), world.slice(2, 0, 64));
  const size_t allocations = world.memory.live_allocations.size();
  const uint32_t signals = world.memory.live_signals;
  {
    auto exec = graph.instantiate(world.all(), {.executor = GetParam(), .profile = true});
    ASSERT_TRUE(exec) << exec.error().to_string();
    const size_t in_use = world.memory.live_allocations.size();
    const uint32_t signals_in_use = world.memory.live_signals;
    for (int launch = 0; launch < 10'000; ++launch) ASSERT_TRUE(exec->launch().status());
    EXPECT_EQ(world.memory.live_allocations.size(), in_use);
    EXPECT_EQ(world.memory.live_signals, signals_in_use);
    for (FakeDevice& device : world.devices)
      for (QueueKind kind : {QueueKind::Pm4, QueueKind::Aql, QueueKind::Sdma})
        device.queue(kind).submissions.clear();
  }
  EXPECT_EQ(world.memory.live_allocations.size(), allocations);
  EXPECT_EQ(world.memory.live_signals, signals);
}

}  // namespace
}  // namespace doppel::test
