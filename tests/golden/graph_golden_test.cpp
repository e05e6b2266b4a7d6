// Ten typical graphs on both executors and every family, pinned dword for dword: what each queue is
// given for a launch, and the indirect buffers that it runs. `doppel diff` shows what a change to
// planner or executors does to them.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/graph.h"
#include "tests/core/graph/graph_world.h"
#include "tests/golden/golden_text.h"

namespace doppel {
namespace {

using golden::BlockWriter;
using golden::NamedRange;

constexpr uint32_t kCount = test::GraphWorld::kWords;
constexpr uint64_t kBytes = kCount * sizeof(uint32_t);

struct Family {
  std::string_view name;
  std::string_view target;
};

/// Fake devices, the graph that is recorded on them, and how it is launched.
struct Scene {
  Scene(std::string_view target, uint32_t devices)
      : world({.devices = devices, .target = target, .program = "golden_kernels"}),
        host_in(*gpu(0).allocate(kBytes, {.domain = MemoryDomain::Gtt})),
        host_out(*gpu(0).allocate(kBytes, {.domain = MemoryDomain::Gtt})) {}

  test::FakeDevice& gpu(uint32_t index) { return world.devices[index]; }
  const Allocation& x(uint32_t gpu = 0) const { return world.buffers[gpu * 4]; }
  const Allocation& y(uint32_t gpu = 0) const { return world.buffers[gpu * 4 + 1]; }
  const Allocation& z(uint32_t gpu = 0) const { return world.buffers[gpu * 4 + 2]; }

  GraphNode kernel(std::string_view name, const MemoryView& in, const MemoryView& out,
                   uint32_t gpu = 0, GraphNodeOptions options = {}) {
    return graph.kernel(world.kernel(name, gpu), args(in, out, 3u), 16, 64, std::move(options));
  }

  /// Everything that an address can point to.
  std::vector<NamedRange> names() const {
    std::vector<NamedRange> names{{"host_in", host_in}, {"host_out", host_out}};
    for (uint32_t gpu = 0; gpu < world.devices.size(); ++gpu) {
      names.emplace_back(fmt::format("gpu{}.x", gpu), x(gpu));
      names.emplace_back(fmt::format("gpu{}.y", gpu), y(gpu));
      names.emplace_back(fmt::format("gpu{}.z", gpu), z(gpu));
      for (const char* name : {"scale", "stack", "reads_packet"}) {
        const Kernel kernel = world.kernel(name, gpu).value();
        names.emplace_back(fmt::format("gpu{}.{}", gpu, name), kernel.entry_address(), 256);
        names.emplace_back(fmt::format("gpu{}.{}.kd", gpu, name), kernel.descriptor_address(), 64);
      }
    }
    names.emplace_back("scratch", 0x7e00'0000'0000, uint64_t{1} << 30);
    names.insert(names.end(), world.memory.regions.begin(), world.memory.regions.end());
    return names;
  }

  test::GraphWorld world;
  Allocation host_in, host_out;
  std::vector<Allocation> more;
  Graph graph;
  GraphOptions options{.map_peers = true};
  GraphLaunchOptions launch;
  std::vector<Signal> signals;
};

struct TypicalGraph {
  std::string_view name;
  uint32_t devices;
  void (*record)(Scene& scene);
};

constexpr TypicalGraph kGraphs[] = {
    {"one_kernel", 1, [](Scene& s) { s.kernel("scale", s.x(), s.y()); }},

    // One queue orders them: no waits. The second one needs scratch memory.
    {"dependent_kernels", 1,
     [](Scene& s) {
       s.kernel("scale", s.x(), s.y());
       s.kernel("stack", s.y(), s.z());
     }},

    // Three steps over two queues, between two signals of the caller.
    {"upload_compute_download", 1,
     [](Scene& s) {
       s.graph.copy(s.host_in, s.x());
       s.kernel("scale", s.x(), s.y());
       s.graph.copy(s.y(), s.host_out);
       for (int n = 0; n < 2; ++n) s.signals.push_back(*s.gpu(0).create_signal({}));
       s.launch = {
           .wait = &s.signals[0], .wait_value = 7, .signal = &s.signals[1], .signal_value = 8};
     }},

    // A kernel and a fill side by side, and a kernel that needs both.
    {"fork_join", 1,
     [](Scene& s) {
       s.kernel("scale", s.x(), *s.y().slice(0, kBytes / 2));
       s.graph.fill(*s.y().slice(kBytes / 2, kBytes / 2), 0xdeadbeef);
       s.kernel("scale", s.y(), s.z());
     }},

    {"transfers_only", 1,
     [](Scene& s) {
       s.graph.fill(s.x(), 1);
       s.graph.copy(s.x(), s.y());
     }},

    // More than one copy packet holds.
    {"large_copy", 1,
     [](Scene& s) {
       constexpr uint64_t kLarge = (uint64_t{9} << 20) + 4;
       for (int n = 0; n < 2; ++n) s.more.push_back(*s.gpu(0).allocate(kLarge, {}));
       s.graph.copy(s.more[0], s.more[1]);
     }},

    // A kernel that reads its launch from the dispatch packet, the last workgroup partial.
    {"partial_workgroup", 1,
     [](Scene& s) {
       s.graph.kernel(s.world.kernel("reads_packet"), args(s.x(), s.y(), 3u), WorkItems(1000, 3),
                      Dim3(64, 2));
     }},

    // The second GPU's engine fetches what the first one has computed.
    {"peer_pipeline", 2,
     [](Scene& s) {
       s.kernel("scale", s.x(0), s.y(0), 0);
       s.graph.copy(s.y(0), s.x(1), {.device = &s.gpu(1)});
       s.kernel("scale", s.x(1), s.y(1), 1);
     }},

    // One kernel after work on seven other queues: more than a barrier packet takes.
    {"gather", 4,
     [](Scene& s) {
       GraphNodeOptions last;
       for (uint32_t gpu = 0; gpu < 4; ++gpu)
         last.after.push_back(s.graph.fill(s.z(gpu), gpu, {.device = &s.gpu(gpu)}));
       for (uint32_t gpu = 1; gpu < 4; ++gpu)
         last.after.push_back(s.kernel("scale", s.x(gpu), s.y(gpu), gpu));
       s.kernel("scale", s.x(0), s.y(0), 0, last);
     }},

    {"profiled", 1,
     [](Scene& s) {
       s.options.profile = true;
       s.kernel("scale", s.x(), s.y());
       s.graph.copy(s.y(), s.host_out);
     }},
};

class GraphGolden : public testing::TestWithParam<std::tuple<Family, GraphExecutor>> {};

/// Blocks "<graph> gpu0 pm4 launch" for what the ring gets, "... nodes" for the indirect buffers.
void check_streams(test::GoldenText& file, const std::string& name, Scene& scene,
                   const GraphExec& exec) {
  BlockWriter writer(scene.names());
  std::vector<Device*> devices = scene.world.all();
  for (const GraphStream& stream : exec.commands()) {
    const auto number = std::ranges::find(devices, stream.device) - devices.begin();
    const std::string queue = fmt::format("{} gpu{} {}", name, number, to_string(stream.queue));
    auto& submissions = scene.gpu(static_cast<uint32_t>(number)).queue(stream.queue).submissions;
    ASSERT_EQ(submissions.size(), 1u);
    file.check(writer.block(queue + " launch", submissions.front().commands));
    if (stream.queue == QueueKind::Aql) continue;  // the ring gets the packets themselves
    file.check(writer.block(queue + " nodes", stream.commands));
  }
}

TEST_P(GraphGolden, TypicalGraphs) {
  const auto& [family, executor] = GetParam();
  test::GoldenText file(
      fmt::format("graphs/{}-{}.txt", executor == GraphExecutor::Aql ? "aql" : "pm4", family.name));
  for (const TypicalGraph& typical : kGraphs) {
    Scene scene(family.target, typical.devices);
    typical.record(scene);
    scene.options.executor = executor;
    auto exec = scene.graph.instantiate(scene.world.all(), scene.options);
    ASSERT_TRUE(exec) << typical.name << ": " << exec.error().to_string();
    ASSERT_TRUE(exec->launch(scene.launch).status());
    check_streams(file, std::string(typical.name), scene, *exec);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, GraphGolden,
    testing::Combine(testing::Values(Family{"gfx9.4", "gfx942"}, Family{"gfx10.3", "gfx1030"},
                                     Family{"gfx11", "gfx1100"}, Family{"gfx12", "gfx1201"}),
                     testing::Values(GraphExecutor::Pm4Sdma, GraphExecutor::Aql)),
    [](const auto& info) {
      return fmt::format("{}_{}", std::get<1>(info.param) == GraphExecutor::Aql ? "Aql" : "Pm4",
                         std::get<0>(info.param).target);
    });

}  // namespace
}  // namespace doppel
