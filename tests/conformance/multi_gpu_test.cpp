// Several GPUs of one machine: peer access, signals across devices. Skipped where there is but one.
#include "core/graph.h"
#include "tests/conformance/conformance.h"
#include "tests/paths.h"

namespace doppel::conformance {
namespace {

class MultiGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto devices = open_devices(settings().device);
    ASSERT_TRUE(devices) << devices.error().to_string();
    devices_ = *std::move(devices);
    if (devices_.size() < 2) GTEST_SKIP() << settings().device << " is one GPU";
  }
  void TearDown() override {
    for (const auto& device : devices_) EXPECT_OK(device->close());
  }
  Device& gpu(size_t index) { return *devices_[index]; }

  std::vector<std::unique_ptr<Device>> devices_;
};

TEST_F(MultiGpuTest, DevicesAreDistinct) {
  EXPECT_NE(gpu(0).info().gpu_id, gpu(1).info().gpu_id);
  EXPECT_NE(gpu(0).info().pci_address, gpu(1).info().pci_address);
}

TEST_F(MultiGpuTest, PeerMemoryIsCopiedOnceMapped) {
  const auto data = pattern(5000);
  const Allocation mine = gpu(0).allocate(20000).value();
  const Allocation theirs = gpu(1).allocate(20000).value();
  EXPECT_OK(gpu(0).write(mine, data));
  EXPECT_OK(gpu(1).map(mine));
  EXPECT_OK(gpu(1).sdma().copy(mine, theirs).submit());
  EXPECT_OK(gpu(1).synchronize());
  EXPECT_EQ(gpu(1).read<uint32_t>(theirs).value(), data);
  EXPECT_OK(gpu(1).unmap(mine));
  EXPECT_FALSE(gpu(1).unmap(mine));
}

TEST_F(MultiGpuTest, SignalsOrderQueuesOfTwoDevices) {
  const auto data = pattern(1000);
  const Allocation shared = gpu(0).allocate(4000, {.domain = MemoryDomain::Gtt}).value();
  const Allocation source = gpu(0).allocate(4000).value();
  const Allocation end = gpu(1).allocate(4000).value();
  EXPECT_OK(gpu(0).write(source, data));
  EXPECT_OK(gpu(1).map(shared));
  const Signal ready = gpu(0).create_signal().value();
  EXPECT_OK(gpu(1).sdma().wait(ready, 1).copy(shared, end).signal(ready, 2).submit());
  EXPECT_OK(gpu(0).sdma().copy(source, shared).signal(ready, 1).submit());
  EXPECT_OK(ready.wait(2));
  EXPECT_EQ(gpu(1).read<uint32_t>(end).value(), data);
}

class MultiGpuGraphTest : public MultiGpuTest, public ::testing::WithParamInterface<GraphExecutor> {
 protected:
  Program load(size_t gpu_index) {
    auto program = gpu(gpu_index).load_program(
        test::kernel_file("saxpy." + std::string(gpu(gpu_index).target().name) + ".co"));
    EXPECT_OK(program);
    return *std::move(program);
  }
  Allocation floats(size_t gpu_index, float value) {
    Allocation memory = gpu(gpu_index).allocate(kCount * sizeof(float)).value();
    EXPECT_OK(gpu(gpu_index).write(memory, std::vector<float>(kCount, value)));
    return memory;
  }
  Result<GraphExec> instantiate(const Graph& graph, GraphOptions options = {}) {
    options.executor = GetParam();
    options.map_peers = true;
    Device* const devices[] = {&gpu(0), &gpu(1)};
    return graph.instantiate(devices, options);
  }

  static constexpr uint32_t kCount = 1000;
};

INSTANTIATE_TEST_SUITE_P(Executors, MultiGpuGraphTest,
                         ::testing::Values(GraphExecutor::Pm4Sdma, GraphExecutor::Aql),
                         [](const auto& info) {
                           return info.param == GraphExecutor::Aql ? "aql" : "pm4";
                         });

/// There and back, by the engines of both sides, and both GPUs' nodes on one clock.
TEST_P(MultiGpuGraphTest, PingPongIsOrderedAndProfiledInOneClock) {
  const Program programs[] = {load(0), load(1)};
  const Allocation x[] = {floats(0, 1), floats(1, 10)}, y[] = {floats(0, 0), floats(1, 0)};
  Graph graph;
  const auto saxpy = [&](size_t at) {
    graph.kernel(programs[at].kernel("saxpy"), args(x[at], y[at], 1.0f, kCount), 4, 256);
  };
  saxpy(0);
  graph.copy(y[0], y[1], {.device = &gpu(0)});  // pushed
  saxpy(1);
  graph.copy(y[1], y[0], {.device = &gpu(0)});  // pulled
  saxpy(0);
  auto exec = instantiate(graph, {.profile = true});
  ASSERT_OK(exec);
  for (int n = 0; n < 20; ++n) ASSERT_OK(exec->launch().status());
  EXPECT_OK(exec->launch().wait());
  // A round adds 1, 10 and 1.
  EXPECT_EQ(gpu(0).read<float>(y[0]).value(), std::vector<float>(kCount, 21 * 12.0f));

  const auto profile = exec->profile();
  ASSERT_OK(profile);
  ASSERT_EQ(profile->size(), 5u);
  for (size_t node = 0; node < profile->size(); ++node) {
    EXPECT_EQ((*profile)[node].device, node == 2 ? &gpu(1) : &gpu(0));
    EXPECT_GT((*profile)[node].start_ns, 0);
    EXPECT_LE((*profile)[node].start_ns, (*profile)[node].end_ns);
    if (node == 0) continue;
    EXPECT_EQ((*profile)[node].waits_for, std::vector{static_cast<uint32_t>(node) - 1});
    EXPECT_LE((*profile)[node - 1].end_ns, (*profile)[node].start_ns) << node;
  }
}

/// Neither GPU begins before both have finished what they had before.
TEST_P(MultiGpuGraphTest, AllQueuesStartTogether) {
  const Program programs[] = {load(0), load(1)};
  const Allocation x = floats(0, 1), y = floats(0, 0), z = floats(1, 7);
  EXPECT_OK(gpu(1).map(y));
  Graph graph;
  graph.copy(z, y, {.device = &gpu(1)});  // needs nothing of GPU 0 ...
  graph.fill(x, 0, {.device = &gpu(0)});
  auto exec = instantiate(graph);
  ASSERT_OK(exec);
  Signal go = gpu(0).create_signal().value();
  // ... but for a fill that GPU 0 has still to do.
  EXPECT_OK(gpu(0).sdma().wait(go, 1).fill(y, 0).submit());
  const GraphLaunch launch = exec->launch();
  EXPECT_OK(launch.status());
  EXPECT_FALSE(launch.done());
  go.set(1);
  EXPECT_OK(launch.wait());
  EXPECT_EQ(gpu(0).read<float>(y).value(), std::vector<float>(kCount, 7));
}

TEST_F(MultiGpuTest, KernelsBelongToTheirDevice) {
  const auto path = test::kernel_file("empty." + std::string(gpu(0).target().name) + ".co");
  const auto program = gpu(0).load_program(path);
  ASSERT_OK(program);
  EXPECT_ERROR(gpu(1).compute().exec(program->kernel("empty"), args(), 1, 1).submit(),
               StatusCode::InvalidArgument, "another device");
}

}  // namespace
}  // namespace doppel::conformance
