// Random graphs on emulated GPUs, against the sequential oracle. DOPPEL_GRAPH_SEEDS sets how many
// seeds each case runs; a failing one is printed as the smallest graph that still fails. That this
// works is tested too, with a planner that forgets edges.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/verify/gtest.h"
#include "tests/core/graph/random_graph.h"

namespace doppel::test {
namespace {

/// Graphs that one machine runs before a fresh one, with another schedule, takes over.
constexpr uint64_t kGraphsPerMachine = 25;

uint64_t seeds() {
  const char* wanted = std::getenv("DOPPEL_GRAPH_SEEDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1000;
}

std::string machine_name(uint32_t devices, uint64_t schedule) {
  return fmt::format("mock:gfx1100,cu=2,vram=64MiB,count={},seed={}", devices, schedule);
}

/// Why the graph is wrong on a fresh machine, or "".
std::string check_alone(const GraphSpec& spec, uint64_t schedule, Defect defect = Defect::None) {
  auto machine = GraphMachine::open(machine_name(spec.devices, schedule));
  return machine ? machine->check(spec, nullptr, defect) : machine.error().to_string();
}

class RandomGraphs : public testing::TestWithParam<std::tuple<uint32_t, GraphExecutor>> {};

TEST_P(RandomGraphs, EqualTheSequentialOracle) {
  const auto& [devices, executor] = GetParam();
  uint32_t refused = 0;
  for (uint64_t seed = 0; seed < seeds();) {
    const uint64_t schedule = seed;
    auto machine = GraphMachine::open(machine_name(devices, schedule));
    ASSERT_TRUE(machine) << machine.error().to_string();
    for (uint64_t run = 0; run < kGraphsPerMachine && seed < seeds(); ++run, ++seed) {
      const GraphSpec spec = random_graph(seed, devices, executor);
      const std::string wrong = machine->check(spec, &refused);
      if (wrong.empty()) continue;
      const GraphSpec small = shrink(spec, [&](const GraphSpec& candidate) {
        return !check_alone(candidate, schedule).empty();
      });
      FAIL() << fmt::format("seed {}: {}\nsmallest failing graph: {}\n{}", seed, wrong,
                            check_alone(small, schedule), to_string(small));
    }
  }
  // On several queues some of the random bindings must race, and be refused.
  EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(, RandomGraphs,
                         testing::Combine(testing::Range(1u, 5u),
                                          testing::Values(GraphExecutor::Pm4Sdma,
                                                          GraphExecutor::Aql)),
                         [](const auto& info) {
                           return fmt::format(
                               "{}Gpu{}{}", std::get<0>(info.param),
                               std::get<0>(info.param) == 1 ? "" : "s",
                               std::get<1>(info.param) == GraphExecutor::Aql ? "Aql" : "Pm4");
                         });

TEST_P(RandomGraphs, HaveNoFindings) {
  const auto& [devices, executor] = GetParam();
  constexpr uint64_t kVerified = 50;
  for (uint64_t seed = 0; seed < kVerified; ++seed) {
    auto machine = GraphMachine::open(machine_name(devices, seed), Verify::all());
    ASSERT_TRUE(machine) << machine.error().to_string();
    const GraphSpec spec = random_graph(seed, devices, executor);
    ASSERT_EQ(machine->check(spec), "") << "seed " << seed;
    ASSERT_NO_FINDINGS(*machine->devices()[0]) << "seed " << seed << "\n" << to_string(spec);
  }
}

class DefectivePlanner : public testing::TestWithParam<GraphExecutor> {};

TEST_P(DefectivePlanner, IsFoundAndShrunkToAPairOfNodes) {
  const auto fails = [](const GraphSpec& spec, uint64_t seed) {
    return !check_alone(spec, seed, Defect::ForgetsWrites).empty();
  };
  uint64_t seed = 0;
  while (seed < 200 && !fails(random_graph(seed, 2, GetParam()), seed)) ++seed;
  ASSERT_LT(seed, 200u) << "a planner without the edges of kernels' outputs goes unnoticed";
  const GraphSpec small =
      shrink(random_graph(seed, 2, GetParam()),
             [&](const GraphSpec& candidate) { return fails(candidate, seed); });
  EXPECT_EQ(small.nodes.size(), 2u) << to_string(small);
  EXPECT_THAT(to_string(small),
              testing::AllOf(testing::HasSubstr("  0: "), testing::HasSubstr("  1: ")));
  EXPECT_EQ(check_alone(small, seed), "") << "the planner as it is orders the two";
}

/// One run is enough to find a forgotten edge, also where the memory comes out right.
TEST_P(DefectivePlanner, IsNamedEvenIfTheMemoryIsRight) {
  uint32_t right = 0, named = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const GraphSpec spec = random_graph(seed, 2, GetParam());
    auto machine = GraphMachine::open(machine_name(2, seed), Verify::all());
    ASSERT_TRUE(machine) << machine.error().to_string();
    if (!machine->check(spec, nullptr, Defect::ForgetsWrites).empty()) continue;
    ++right;
    if (!machine->devices()[0]->findings().value().empty()) ++named;
  }
  EXPECT_GT(named, 0u) << "of " << right << " graphs whose memory was right";
}

INSTANTIATE_TEST_SUITE_P(, DefectivePlanner,
                         testing::Values(GraphExecutor::Pm4Sdma, GraphExecutor::Aql),
                         [](const auto& info) {
                           return info.param == GraphExecutor::Aql ? "Aql" : "Pm4";
                         });

/// The shrinker itself: a "failure" with a known smallest cause.
TEST(Shrinker, FindsTheTwoNodesThatMatter) {
  const GraphSpec spec = random_graph(1, 2, GraphExecutor::Pm4Sdma);
  const auto has = [](const GraphSpec& graph, NodeKind kind) {
    return std::ranges::any_of(graph.nodes, [&](const NodeSpec& n) { return n.kind == kind; });
  };
  const auto fails = [&](const GraphSpec& graph) {
    return has(graph, NodeKind::Copy) && has(graph, NodeKind::Accumulate);
  };
  ASSERT_TRUE(fails(spec)) << to_string(spec);
  const GraphSpec small = shrink(spec, fails);
  EXPECT_EQ(small.nodes.size(), 2u);
  EXPECT_EQ(small.launches.size(), 1u);
  EXPECT_THAT(to_string(small), testing::HasSubstr("+= "));
}

}  // namespace
}  // namespace doppel::test
