// What a recorder tells of runs on emulated machines: spans, the graph of what ordered what,
// counters, findings and faults.
#include <algorithm>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends/report/timeline.h"
#include "tests/backends/report/observed_machine.h"

namespace doppel::report::test {
namespace {

using ::testing::HasSubstr;

uint32_t node_number(const report::Run& run, std::string_view name, size_t which = 0) {
  for (size_t i = 0; i < run.nodes.size(); ++i) {
    if (run.nodes[i].name == name && which-- == 0) return static_cast<uint32_t>(i);
  }
  ADD_FAILURE() << "There is no such piece of work: " << name;
  return 0;
}

const Edge* edge_between(const report::Run& run, uint32_t from, uint32_t to) {
  const auto found = std::ranges::find_if(
      run.edges, [&](const Edge& edge) { return edge.from == from && edge.to == to; });
  return found == run.edges.end() ? nullptr : &*found;
}

TEST(RunRecorder, EdgesSayWhatOrdersAPipeline) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("pipeline"));
  const report::Run& run = machine.run();
  const uint32_t upload = node_number(run, "COPY_LINEAR"), first = node_number(run, "scale_add"),
                 second = node_number(run, "scale_add", 1),
                 download = node_number(run, "COPY_LINEAR", 1);
  const Edge* uploaded = edge_between(run, upload, first);
  ASSERT_NE(uploaded, nullptr);
  EXPECT_EQ(uploaded->kind, EdgeKind::Signal);
  EXPECT_THAT(uploaded->how, HasSubstr("FENCE at dword"));
  EXPECT_THAT(uploaded->how, HasSubstr("WAIT_REG_MEM at dword"));
  const Edge* barrier = edge_between(run, first, second);
  ASSERT_NE(barrier, nullptr);
  EXPECT_EQ(barrier->kind, EdgeKind::Queue);
  const Edge* computed = edge_between(run, second, download);
  ASSERT_NE(computed, nullptr);
  EXPECT_EQ(computed->kind, EdgeKind::Signal);
  EXPECT_THAT(computed->how, HasSubstr("RELEASE_MEM at dword"));
  EXPECT_EQ(edge_between(run, first, download), nullptr) << "it follows from others";
}

TEST(RunRecorder, WorkBeginsAfterWhatOrdersIt) {
  for (const auto executor : {GraphExecutor::Pm4Sdma, GraphExecutor::Aql}) {
    ObservedMachine machine;
    ASSERT_TRUE(machine.launch("diamond", executor));
    const report::Run& run = machine.run();
    EXPECT_FALSE(run.edges.empty());
    for (const Edge& edge : run.edges) {
      const Node &from = run.nodes[edge.from], &to = run.nodes[edge.to];
      EXPECT_LE(from.end_ns, to.begin_ns) << from.name << " before " << to.name << ": " << edge.how;
      EXPECT_LT(edge.from, edge.to);
    }
  }
}

TEST(RunRecorder, SpansOfOneTrackFollowEachOther) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("pipeline"));
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> ends;
  std::set<SpanKind> kinds;
  for (const Span& span : machine.run().spans) {
    EXPECT_LE(span.begin_ns, span.end_ns) << span.name;
    uint64_t& end = ends[{span.actor, span.track}];
    EXPECT_GE(span.begin_ns, end) << span.name;
    end = span.end_ns;
    kinds.insert(span.kind);
  }
  EXPECT_EQ(kinds,
            (std::set{SpanKind::Packet, SpanKind::Wait, SpanKind::Kernel, SpanKind::HostCall}));
}

TEST(RunRecorder, CountsWhatKernelsDo) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("pipeline"));
  const report::Run& run = machine.run();
  ASSERT_EQ(run.kernels.size(), 1u);
  const KernelCounters& kernel = run.kernels[0];
  EXPECT_EQ(kernel.name, "scale_add");
  EXPECT_EQ(kernel.target, "gfx1100");
  EXPECT_EQ(kernel.launches, 4u);  // of two nodes, twice
  EXPECT_EQ(kernel.workgroups, 4u * 64);
  ASSERT_NE(kernel.profile, nullptr);
  EXPECT_EQ(kernel.profile->traffic(emu::AccessMode::Read).bytes, 4u * 4096 * 4);
  EXPECT_EQ(kernel.profile->traffic(emu::AccessMode::Write).bytes, 4u * 4096 * 4);
}

TEST(RunRecorder, LeavesCountersOut) {
  ObservedMachine machine("mock:gfx1100,cu=4", false);
  ASSERT_TRUE(machine.launch("pipeline"));
  EXPECT_EQ(machine.run().kernels.at(0).launches, 4u);
  EXPECT_EQ(machine.run().kernels.at(0).profile, nullptr);
}

TEST(RunRecorder, KeepsFindings) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.race());
  const report::Run& run = machine.run();
  EXPECT_TRUE(run.checked);
  ASSERT_EQ(run.findings.size(), 1u);
  EXPECT_THAT(run.findings[0].to_string(), HasSubstr("COPY_LINEAR"));
}

TEST(RunRecorder, AWellOrderedRunHasNoFindings) {
  ObservedMachine machine;
  for (const auto& workload : compare::workloads()) ASSERT_TRUE(machine.launch(workload.name));
  EXPECT_TRUE(machine.run().findings.empty()) << machine.run().findings[0].to_string();
  EXPECT_TRUE(machine.run().faults.empty());
  EXPECT_EQ(machine.run().left_out, 0u);
}

TEST(RunRecorder, TheSameRunIsToldTheSame) {
  const auto told = [] {
    ObservedMachine machine("mock:gfx1100,cu=4,seed=3");
    EXPECT_TRUE(machine.launch("diamond"));
    // Memory lies where the host's kernel puts it.
    return std::regex_replace(timeline_json(machine.run()), std::regex("0x7f[0-9a-f]{10}"),
                              "0x7f..........");
  };
  EXPECT_EQ(told(), told());
}

TEST(RunTimeline, IsATraceOfChromesFormat) {
  ObservedMachine machine;
  ASSERT_TRUE(machine.launch("pipeline"));
  const report::Run& run = machine.run();
  const auto trace = nlohmann::json::parse(timeline_json(run));
  std::set<std::pair<int, int>> named;
  std::map<std::string, size_t> phases;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const std::pair<int, int> track{event.at("pid"), event.at("tid")};
    ++phases[phase];
    if (event.at("name") == "thread_name") named.insert(track);
    if (phase == "M") continue;
    EXPECT_TRUE(named.contains(track)) << event;
    EXPECT_GE(event.at("ts").get<double>(), 0) << event;
    EXPECT_GE(event.value("dur", 0.0), 0) << event;
  }
  EXPECT_EQ(phases["X"], run.spans.size());
  EXPECT_EQ(phases["s"], run.arrows.size());
  EXPECT_EQ(phases["f"], run.arrows.size());
  EXPECT_GE(run.arrows.size(), 4u);  // up and down, twice
}

}  // namespace
}  // namespace doppel::report::test
