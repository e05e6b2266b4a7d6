// Ten graphs on every schedule that can make a difference: all of them give the same memory, and
// nothing is found. docs/checks.md has the figures that this prints.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/explore/explore.h"
#include "core/graph.h"
#include "tests/paths.h"

namespace doppel {
namespace {

constexpr uint32_t kCount = 64;  // floats of a buffer, work-items of a kernel
constexpr uint32_t kBuffers = 4;
constexpr uint32_t kSamples = 20;

struct World {
  Gpus gpus;
  std::vector<Program> programs;   // by GPU
  std::vector<Allocation> memory;  // a, b, c, d

  static Result<World> make(Gpus gpus);
  Result<Bytes> contents() const;

  void saxpy(Graph& graph, uint32_t x, uint32_t y, uint32_t gpu = 0) const {
    graph.kernel(programs[gpu].kernel("saxpy"), args(memory[x], memory[y], 2.0f, kCount), 1,
                 kCount);
  }
  void copy(Graph& graph, uint32_t from, uint32_t to, uint32_t gpu = 0) const {
    graph.copy(memory[from], memory[to], {.device = gpus[gpu].get()});
  }
  void fill(Graph& graph, uint32_t to, float value, uint32_t gpu = 0) const {
    graph.fill(memory[to], std::bit_cast<uint32_t>(value), {.device = gpus[gpu].get()});
  }
};

Result<World> World::make(Gpus gpus) {
  World world{gpus, {}, {}};
  for (const auto& gpu : gpus) {
    DOPPEL_ASSIGN(Program program, gpu->load_program(test::kernel_file("saxpy.gfx1100.co")));
    world.programs.push_back(std::move(program));
  }
  for (uint32_t buffer = 0; buffer < kBuffers; ++buffer) {
    DOPPEL_ASSIGN(
        Allocation memory,
        gpus[0]->allocate(kCount * sizeof(float), {.domain = MemoryDomain::Gtt, .coherent = true}));
    for (const auto& gpu : gpus.subspan(1)) DOPPEL_TRY(gpu->map(memory));
    const std::vector<float> values(kCount, static_cast<float>(buffer + 1));
    DOPPEL_TRY(gpus[0]->write(memory, values));
    world.memory.push_back(std::move(memory));
  }
  return world;
}

Result<Bytes> World::contents() const {
  Bytes all;
  for (const Allocation& memory : this->memory) {
    Bytes bytes(kCount * sizeof(float));
    DOPPEL_TRY(gpus[0]->read(memory, std::span(bytes)));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

struct Case {
  const char* name;
  uint32_t gpus;
  GraphExecutor executor;
  void (*record)(const World& world, Graph& graph);
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

enum Buffer : uint32_t { a, b, c, d };

void chain(const World& world, Graph& graph) {
  world.fill(graph, a, 3);
  world.saxpy(graph, a, b);
  world.copy(graph, b, c);
}
void diamond(const World& world, Graph& graph) {
  world.saxpy(graph, a, b);
  world.saxpy(graph, b, c);
  world.saxpy(graph, b, d);
  world.saxpy(graph, c, d);
}
void in_and_out(const World& world, Graph& graph) {
  world.copy(graph, a, b);
  world.saxpy(graph, b, c);
  world.copy(graph, c, d);
  world.fill(graph, a, 1);
}
void two_gpus_in_turn(const World& world, Graph& graph) {
  world.saxpy(graph, a, b, 0);
  world.saxpy(graph, b, c, 1);
}
void two_gpus_apart(const World& world, Graph& graph) {
  world.saxpy(graph, a, b, 0);
  world.saxpy(graph, c, d, 1);
}

constexpr auto kPm4 = GraphExecutor::Pm4Sdma;
constexpr auto kAql = GraphExecutor::Aql;

const Case kCases[] = {
    {"Chain", 1, kPm4, chain},
    {"Diamond", 1, kPm4, diamond},
    {"InAndOut", 1, kPm4, in_and_out},
    {"TwoGpusInTurn", 2, kPm4, two_gpus_in_turn},
    {"TwoGpusApart", 2, kPm4, two_gpus_apart},
    {"ChainAql", 1, kAql, chain},
    {"DiamondAql", 1, kAql, diamond},
    {"InAndOutAql", 1, kAql, in_and_out},
    {"TwoGpusInTurnAql", 2, kAql, two_gpus_in_turn},
    {"TwoGpusApartAql", 2, kAql, two_gpus_apart},
};

class ExploredGraph : public testing::TestWithParam<Case> {};

TEST_P(ExploredGraph, IsTheSameOnAllSchedules) {
  const Case& each = GetParam();
  const Scenario scenario = [&](Gpus gpus) -> Result<Bytes> {
    DOPPEL_ASSIGN(const World world, World::make(gpus));
    Graph graph;
    each.record(world, graph);
    std::vector<Device*> devices;
    for (const auto& gpu : gpus) devices.push_back(gpu.get());
    DOPPEL_ASSIGN(GraphExec exec, graph.instantiate(devices, {.executor = each.executor}));
    DOPPEL_TRY(exec.launch().wait());
    return world.contents();
  };
  const auto all =
      explore(scenario, {.machine = fmt::format("mock:gfx1100,cu=2,vram=64MiB,count={}", each.gpus),
                         .verify = Verify::all(),
                         .max_schedules = 3000,
                         .samples = kSamples});
  ASSERT_TRUE(all) << all.error().to_string();
  fmt::print("{}: {} schedules ({} redundant) instead of about {:.1e}\n", each.name, all->schedules,
             all->redundant, all->interleavings);
  EXPECT_TRUE(all->complete);
  EXPECT_FALSE(all->counterexample) << all->counterexample->to_string();
  EXPECT_EQ(all->outcomes.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(, ExploredGraph, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace doppel
