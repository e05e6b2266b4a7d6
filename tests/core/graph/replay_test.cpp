// Patched graphs equal freshly encoded ones, memory included; and everything a graph refuses.
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph.h"
#include "tests/core/graph/graph_world.h"

namespace doppel::test {
namespace {

using testing::HasSubstr;

constexpr uint32_t kCount = GraphWorld::kWords;

/// Everything that can be changed about the graph below. Buffers 4 and 5 are spare.
struct Values {
  uint32_t source = 0, destination = 1;  // buffers
  uint32_t factor = 3, addend = 5;
  uint32_t variable = 7;
  Dim3 grid = {4, 1, 1}, workgroup = {256, 1, 1};
  std::optional<WorkItems> items;  // instead of the grid
  uint32_t copy_source = 1, copy_destination = 2;
  uint64_t copy_offset = 0;
  uint32_t pattern = 0xabcd;
  uint32_t fill_destination = 3;
};

struct Nodes {
  GraphNode kernel, launch, copy, fill;
  std::optional<GraphVariable<uint32_t>> addend;
};

Nodes record(Graph& graph, const GraphWorld& world, const Values& v) {
  Nodes nodes;
  nodes.addend = graph.variable<uint32_t>("addend");
  nodes.kernel = graph.kernel(world.kernel("affine"),
                              args(world.buffers[v.source], writes(world.buffers[v.destination]),
                                   v.factor, *nodes.addend, kCount),
                              Dim3(4), Dim3(256));
  const auto out = args(world.slice(3, 0, 64), world.slice(3, 64, 4));
  nodes.launch = v.items ? graph.kernel(world.kernel("report_launch"), out, *v.items, v.workgroup)
                         : graph.kernel(world.kernel("report_launch"), out, v.grid, v.workgroup);
  nodes.copy = graph.copy(world.slice(v.copy_source, v.copy_offset, 512),
                          world.slice(v.copy_destination, 2048, 512));
  nodes.fill = graph.fill(world.slice(v.fill_destination, 1024, 256), v.pattern);
  return nodes;
}

void change(GraphExec& exec, const Nodes& nodes, const GraphWorld& world, const Values& v) {
  EXPECT_TRUE(exec.set_buffer(nodes.kernel, 0, world.buffers[v.source]));
  EXPECT_TRUE(exec.set_buffer(nodes.kernel, 1, world.buffers[v.destination]));
  EXPECT_TRUE(exec.set_scalar(nodes.kernel, 2, v.factor));
  EXPECT_TRUE(exec.set(*nodes.addend, v.addend));
  EXPECT_TRUE(v.items ? exec.set_dims(nodes.launch, *v.items, v.workgroup)
                      : exec.set_dims(nodes.launch, v.grid, v.workgroup));
  EXPECT_TRUE(exec.set_buffer(nodes.copy, 0, world.slice(v.copy_source, v.copy_offset, 512)));
  EXPECT_TRUE(exec.set_buffer(nodes.copy, 1, world.slice(v.copy_destination, 2048, 512)));
  EXPECT_TRUE(exec.set_buffer(nodes.fill, 0, world.slice(v.fill_destination, 1024, 256)));
  EXPECT_TRUE(exec.set_pattern(nodes.fill, v.pattern));
}

struct Case {
  std::string name;
  std::function<void(Values&)> edit;
};

class Replayed : public testing::TestWithParam<std::tuple<Case, GraphExecutor, std::string_view>> {
};

/// The bytes of all memory and the dwords of all queues once `v` has been launched.
struct Outcome {
  std::map<uint64_t, std::vector<std::byte>> memory;
  std::vector<std::vector<uint32_t>> streams;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome(GraphWorld& world, const Graph& graph, const Nodes& nodes, const Values& first,
                const Values& then, GraphExecutor executor) {
  auto exec = graph.instantiate(world.devices[0], {.executor = executor, .profile = true});
  EXPECT_TRUE(exec) << exec.error().to_string();
  EXPECT_TRUE(exec->set(*nodes.addend, first.addend));
  EXPECT_TRUE(exec->launch().wait());
  change(*exec, nodes, world, then);
  EXPECT_TRUE(exec->launch().wait());
  Outcome outcome{.memory = world.memory.contents(), .streams = {}};
  for (const GraphStream& stream : exec->commands())
    outcome.streams.emplace_back(stream.commands.dwords().begin(), stream.commands.dwords().end());
  return outcome;
}

TEST_P(Replayed, EqualsEncodingAfresh) {
  const auto& [edit, executor, variant] = GetParam();
  Values changed;
  edit.edit(changed);

  const WorldOptions options{.buffers_each = 6, .program = variant};
  GraphWorld patched_world(options), fresh_world(options);
  Graph patched_graph, fresh_graph;
  const Nodes patched = record(patched_graph, patched_world, Values{});
  const Nodes fresh = record(fresh_graph, fresh_world, changed);
  const Outcome from_patch =
      outcome(patched_world, patched_graph, patched, Values{}, changed, executor);
  const Outcome from_fresh = outcome(fresh_world, fresh_graph, fresh, changed, changed, executor);
  EXPECT_EQ(from_patch.streams, from_fresh.streams);
  EXPECT_TRUE(from_patch.memory == from_fresh.memory) << "kernel arguments differ";

  const Outcome unchanged = [&, executor = executor] {
    GraphWorld world(options);
    Graph graph;
    const Nodes nodes = record(graph, world, Values{});
    return outcome(world, graph, nodes, Values{}, Values{}, executor);
  }();
  EXPECT_FALSE(from_patch == unchanged) << "the case changes nothing";
}

// All keep the dependencies: the copy reads what the kernel writes.
const Case kCases[] = {
    {"KernelInput", [](Values& v) { v.source = 5; }},
    {"KernelOutput", [](Values& v) { v.destination = v.copy_source = 4; }},
    {"Scalar", [](Values& v) { v.factor = 0x12345678; }},
    {"Variable", [](Values& v) { v.addend = 0xffffffff; }},
    {"Grid",
     [](Values& v) {
       v.grid = {17, 3, 2};
     }},
    {"Workgroup",
     [](Values& v) {
       v.workgroup = {64, 2, 1};
     }},
    {"PartialWorkgroup", [](Values& v) { v.items = WorkItems(1000, 3, 1); }},
    {"CopySource", [](Values& v) { v.copy_offset = 16; }},
    {"CopyDestination", [](Values& v) { v.copy_destination = 5; }},
    {"FillPattern", [](Values& v) { v.pattern = 1; }},
    {"FillDestination", [](Values& v) { v.fill_destination = 4; }},
};

INSTANTIATE_TEST_SUITE_P(
    , Replayed,
    testing::Combine(testing::ValuesIn(kCases),
                     testing::Values(GraphExecutor::Pm4Sdma, GraphExecutor::Aql),
                     // Code object version 4 reads the launch from the dispatch packet only.
                     testing::Values("graph_kernels", "graph_kernels.cov4")),
    [](const auto& info) {
      return fmt::format("{}_{}{}", std::get<0>(info.param).name,
                         std::get<1>(info.param) == GraphExecutor::Aql ? "Aql" : "Pm4",
                         std::get<2>(info.param).ends_with(".cov4") ? "_Cov4" : "");
    });

}  // namespace
}  // namespace doppel::test
