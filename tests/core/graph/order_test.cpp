// AccessMap and QueueOrder against brute force: per-byte bookkeeping, and reachability over all
// edges.
#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/access_map.h"
#include "core/graph/queue_order.h"
#include "core/prng.h"

namespace doppel::graph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Ranges = std::vector<ByteRange>;

TEST(AccessMap, ReaderFollowsWriter) {
  AccessMap map;
  EXPECT_THAT(map.record(0, {}, Ranges{{1, 0, 100}}), IsEmpty());
  EXPECT_THAT(map.record(1, Ranges{{1, 99, 100}}, {}), ElementsAre(0));
  EXPECT_THAT(map.record(2, Ranges{{1, 100, 200}}, {}), IsEmpty());
  EXPECT_THAT(map.record(3, Ranges{{2, 0, 100}}, {}), IsEmpty());
}

TEST(AccessMap, WriterFollowsReadersAndWriter) {
  AccessMap map;
  map.record(0, {}, Ranges{{1, 0, 100}});
  map.record(1, Ranges{{1, 0, 50}}, {});
  map.record(2, Ranges{{1, 50, 100}}, {});
  EXPECT_THAT(map.record(3, {}, Ranges{{1, 40, 60}}), ElementsAre(0, 1, 2));
  EXPECT_THAT(map.record(4, Ranges{{1, 0, 100}}, {}), ElementsAre(0, 3));
}

TEST(AccessMap, ANodeNeverFollowsItself) {
  AccessMap map;
  EXPECT_THAT(map.record(0, Ranges{{1, 0, 64}, {1, 32, 96}}, Ranges{{1, 0, 96}}), IsEmpty());
  EXPECT_THAT(map.record(1, Ranges{{1, 0, 64}}, Ranges{{1, 0, 64}}), ElementsAre(0));
}

TEST(AccessMap, EmptyRangesTouchNothing) {
  AccessMap map;
  map.record(0, {}, Ranges{{1, 10, 10}});
  EXPECT_THAT(map.record(1, Ranges{{1, 0, 100}}, {}), IsEmpty());
}

/// One byte's history, kept the slow way.
struct Byte {
  NodeId writer = kNoNode;
  std::set<NodeId> readers;
};

TEST(AccessMap, AgreesWithPerByteBookkeeping) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Prng prng(seed);
    AccessMap map;
    std::vector<std::vector<Byte>> bytes(3, std::vector<Byte>(64));
    for (NodeId node = 0; node < 40; ++node) {
      Ranges reads, writes;
      for (Ranges* ranges : {&reads, &writes}) {
        for (uint64_t n = prng.below(3); n > 0; --n) {
          const uint64_t a = prng.below(65), b = prng.below(65);
          ranges->push_back({prng.below(3), std::min(a, b), std::max(a, b)});
        }
      }
      std::set<NodeId> expected;
      const auto each_byte = [&](const Ranges& ranges, auto visit) {
        for (const ByteRange& range : ranges)
          for (uint64_t at = range.begin; at < range.end; ++at) visit(bytes[range.buffer][at]);
      };
      each_byte(reads, [&](Byte& byte) { expected.insert(byte.writer); });
      each_byte(writes, [&](Byte& byte) {
        expected.insert(byte.writer);
        expected.insert(byte.readers.begin(), byte.readers.end());
      });
      expected.erase(kNoNode);
      each_byte(reads, [&](Byte& byte) { byte.readers.insert(node); });
      each_byte(writes, [&](Byte& byte) { byte = Byte{node, {}}; });
      EXPECT_THAT(map.record(node, reads, writes), testing::ElementsAreArray(expected))
          << fmt::format("seed {}, node {}", seed, node);
    }
  }
}

TEST(QueueOrder, SameQueueNeedsNoWait) {
  QueueOrder order(2);
  order.append(0, {});
  EXPECT_THAT(order.append(0, std::vector<NodeId>{0}), IsEmpty());
  EXPECT_TRUE(order.ordered(0, 1));
}

TEST(QueueOrder, TransitiveWaitsAreDropped) {
  QueueOrder order(3);
  order.append(0, {});                                                      // 0
  EXPECT_THAT(order.append(1, std::vector<NodeId>{0}), ElementsAre(0));     // 1 after 0
  EXPECT_THAT(order.append(2, std::vector<NodeId>{0, 1}), ElementsAre(1));  // 1 implies 0
  EXPECT_THAT(order.append(2, std::vector<NodeId>{0}), IsEmpty());          // known since node 2
  EXPECT_THAT(order.last_nodes(), ElementsAre(0, 1, 3));
}

TEST(QueueOrder, AgreesWithReachability) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Prng prng(seed);
    constexpr QueueIndex kQueues = 4;
    constexpr NodeId kNodes = 40;
    QueueOrder order(kQueues);
    std::vector<QueueIndex> queues;
    // reach[b][a]: a is complete when b begins, through all edges; kept[b][a]: through queue order
    // and the kept waits only.
    std::vector<std::vector<bool>> reach(kNodes, std::vector<bool>(kNodes)), kept = reach;
    const auto link = [](auto& relation, NodeId after, NodeId before) {
      relation[after][before] = true;
      for (NodeId n = 0; n < before; ++n)
        if (relation[before][n]) relation[after][n] = true;
    };
    for (NodeId node = 0; node < kNodes; ++node) {
      const QueueIndex queue = static_cast<QueueIndex>(prng.below(kQueues));
      std::vector<NodeId> dependencies;
      for (uint64_t n = node == 0 ? 0 : prng.below(4); n > 0; --n)
        dependencies.push_back(static_cast<NodeId>(prng.below(node)));
      for (NodeId before = 0; before < node; ++before) {
        if (queues[before] != queue) continue;
        link(reach, node, before);
        link(kept, node, before);
      }
      queues.push_back(queue);
      const auto already = kept[node];
      const std::vector<NodeId> waits = order.append(queue, dependencies);
      for (NodeId dependency : dependencies) link(reach, node, dependency);
      std::set<QueueIndex> producers;
      for (NodeId wait : waits) {
        EXPECT_FALSE(already[wait])
            << fmt::format("seed {}: wait {} -> {} is idle", seed, wait, node);
        EXPECT_TRUE(producers.insert(queues[wait]).second) << "two waits on one queue";
        link(kept, node, wait);
      }
      for (NodeId before = 0; before < node; ++before) {
        EXPECT_EQ(kept[node][before], reach[node][before])
            << fmt::format("seed {}: {} before {}", seed, before, node);
        EXPECT_EQ(order.ordered(before, node), reach[node][before])
            << fmt::format("seed {}: {} before {}", seed, before, node);
      }
    }
  }
}

}  // namespace
}  // namespace doppel::graph
