// Order, queues and waits of whole graphs, and what new bindings may not do.
#include "core/graph/plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/binding_check.h"
#include "core/prng.h"

namespace doppel::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ByteRange bytes(uint64_t buffer, uint64_t begin, uint64_t end) {
  return {buffer, begin, end};
}

/// A node that touches these ranges; its work is an SDMA fill in name only.
Node node(std::string name, std::vector<ByteRange> reads, std::vector<ByteRange> writes) {
  return {.name = std::move(name),
          .device = nullptr,
          .work = FillWork{},
          .accesses = {std::move(reads), std::move(writes)}};
}

TEST(Plan, OneQueueNeedsNoWaits) {
  Definition definition;
  definition.nodes = {node("a", {}, {bytes(0, 0, 64)}), node("b", {bytes(0, 0, 64)}, {}),
                      node("c", {}, {bytes(0, 0, 64)})};
  const auto plan = make_plan(definition, QueueKind::Pm4);
  ASSERT_TRUE(plan) << plan.error().to_string();
  ASSERT_EQ(plan->queues.size(), 1u);
  EXPECT_EQ(plan->queues[0].kind, QueueKind::Sdma);
  EXPECT_THAT(plan->queues[0].steps, ElementsAre(0, 1, 2));
  for (const Step& step : plan->steps) {
    EXPECT_THAT(step.waits, IsEmpty());
    EXPECT_FALSE(step.signals);
  }
  EXPECT_TRUE(plan->ordered(0, 2));
}

TEST(Plan, ExplicitEdgesMayPointBackwards) {
  Definition definition;
  definition.nodes = {node("a", {}, {}), node("b", {}, {}), node("c", {}, {})};
  definition.edges = {{2, 0}};
  const auto plan = make_plan(definition, QueueKind::Pm4);
  ASSERT_TRUE(plan) << plan.error().to_string();
  std::vector<NodeId> order;
  for (const Step& step : plan->steps) order.push_back(step.node);
  EXPECT_THAT(order, ElementsAre(1, 2, 0));
  EXPECT_TRUE(plan->ordered(2, 0));
}

TEST(Plan, ACycleNamesItsNodesAndEdges) {
  Definition definition;
  definition.nodes = {node("before", {}, {}), node("writer", {}, {bytes(0, 0, 4)}),
                      node("reader", {bytes(0, 0, 4)}, {}), node("after", {}, {})};
  definition.edges = {{0, 1}, {2, 1}, {2, 3}};
  const auto plan = make_plan(definition, QueueKind::Pm4);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(plan.error().message(),
              HasSubstr("Node 1 (writer) precedes Node 2 (reader) (shared memory)"));
  EXPECT_THAT(plan.error().message(),
              HasSubstr("Node 2 (reader) precedes Node 1 (writer) (explicit edge)"));
  EXPECT_THAT(plan.error().message(), Not(HasSubstr("before")));
  EXPECT_THAT(plan.error().message(), Not(HasSubstr("after")));
}

TEST(Plan, ANodeBeforeItselfIsACycle) {
  Definition definition;
  definition.nodes = {node("a", {}, {})};
  definition.edges = {{0, 0}};
  const auto plan = make_plan(definition, QueueKind::Pm4);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message(), HasSubstr("Node 0 (a) precedes Node 0 (a)"));
}

/// Whether the order of `definition`'s accesses is kept if node `changed` has other ones.
Result<> rebind(Definition definition, NodeId changed, Accesses accesses) {
  const auto plan = make_plan(definition, QueueKind::Pm4);
  definition.nodes[changed].accesses = std::move(accesses);
  const NodeId nodes[] = {changed};
  return check_bindings(definition, *plan, nodes);
}

/// Two independent chains on the queues of two devices.
Definition two_chains(Device* first, Device* second) {
  Definition definition;
  definition.nodes = {node("a", {}, {bytes(0, 0, 64)}), node("b", {bytes(0, 0, 64)}, {}),
                      node("c", {}, {bytes(0, 64, 128)}), node("d", {bytes(0, 64, 128)}, {})};
  for (NodeId id : {0, 1}) definition.nodes[id].device = first;
  for (NodeId id : {2, 3}) definition.nodes[id].device = second;
  return definition;
}

/// Identities only: nothing looks behind them here.
Device* device(uintptr_t number) {
  return reinterpret_cast<Device*>(number * 0x1000);
}

TEST(Bindings, OfDisjointMemoryAreFine) {
  EXPECT_TRUE(rebind(two_chains(device(1), device(2)), 2, {{}, {bytes(0, 128, 192)}}));
}

TEST(Bindings, ThatOnlyReadTogetherAreFine) {
  EXPECT_TRUE(rebind(two_chains(device(1), device(2)), 3, {{bytes(0, 128, 192)}, {}}));
}

TEST(Bindings, OnOneQueueMayAlias) {
  EXPECT_TRUE(rebind(two_chains(device(1), device(1)), 2, {{}, {bytes(0, 32, 128)}}));
}

TEST(Bindings, ThatRaceNameBothNodesAndTheBytes) {
  const Result<> result = rebind(two_chains(device(1), device(2)), 2, {{}, {bytes(0, 48, 128)}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(result.error().message(), HasSubstr("Node 0 (a) and Node 2 (c)"));
  EXPECT_THAT(result.error().message(), HasSubstr("(va 0x30, 16 bytes)"));
}

/// Random definitions over several queues: `kept` must order exactly what all edges together order.
TEST(Plan, KeepsEveryDependencyOfRandomGraphs) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Prng prng(seed);
    Definition definition;
    const NodeId count = static_cast<NodeId>(1 + prng.below(30));
    for (NodeId id = 0; id < count; ++id) {
      const auto range = [&] {
        const uint64_t begin = prng.below(56);
        return bytes(prng.below(3), begin, begin + 1 + prng.below(8));
      };
      Node next = node(fmt::format("n{}", id), {range()}, {range()});
      next.device = device(1 + prng.below(4));
      definition.nodes.push_back(std::move(next));
    }
    const auto plan = make_plan(definition, QueueKind::Pm4);
    ASSERT_TRUE(plan) << plan.error().to_string();
    const auto dependencies = derive_dependencies(definition.nodes);
    for (NodeId after = 0; after < count; ++after)
      for (NodeId before : dependencies[after])
        EXPECT_TRUE(plan->ordered(before, after)) << fmt::format("seed {}", seed);
    // Every wait is of another queue, of a step that signals, and its value is the producer's.
    for (StepIndex index = 0; index < plan->steps.size(); ++index) {
      for (StepIndex producer : plan->steps[index].waits) {
        EXPECT_LT(producer, index);
        EXPECT_NE(plan->steps[producer].queue, plan->steps[index].queue);
        EXPECT_TRUE(plan->steps[producer].signals);
      }
    }
    for (const PlanQueue& queue : plan->queues) {
      uint32_t value = 0;
      for (StepIndex index : queue.steps) {
        value += plan->steps[index].signals;
        EXPECT_EQ(plan->steps[index].signal_value, value);
      }
    }
    // What was recorded can always be bound again.
    std::vector<NodeId> all(count);
    for (NodeId id = 0; id < count; ++id) all[id] = id;
    EXPECT_TRUE(check_bindings(definition, *plan, all));
  }
}

}  // namespace
}  // namespace doppel::graph
