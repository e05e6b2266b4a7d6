// Trials of one graph on two machines agree; whatever is changed in one of them shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/compare/allocation_watch.h"
#include "tools/compare/comparison.h"

namespace doppel::compare {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMachine = "mock:gfx1100,cu=8";

Trial run(const char* name, const Workload& workload,
          GraphExecutor executor = GraphExecutor::Pm4Sdma) {
  auto machine = TrialMachine::open(name);
  if (!machine) throw std::runtime_error(machine.error().to_string());
  auto trial = machine->run(workload, executor);
  if (!trial) throw std::runtime_error(trial.error().to_string());
  return *std::move(trial);
}

const Workload& pipeline() {
  return workloads().front();
}

const Comparison::Row& row(const Comparison& comparison, std::string_view kind,
                           std::string_view name) {
  for (const Comparison::Row& row : comparison.rows) {
    if (row.kind == kind && row.name == name) return row;
  }
  throw std::runtime_error("no such row");
}

class EveryWorkload : public ::testing::TestWithParam<std::tuple<size_t, GraphExecutor>> {
 protected:
  const Workload& workload() const { return workloads()[std::get<0>(GetParam())]; }
  Trial run_on(const char* machine) const {
    return run(machine, workload(), std::get<1>(GetParam()));
  }
};

TEST_P(EveryWorkload, AgreesWithItselfWhateverTheAddresses) {
  const Trial left = run_on(kMachine), right = run_on("mock:gfx1100,cu=8,seed=99");
  const Comparison comparison = compare(left, right);
  EXPECT_TRUE(comparison.equal()) << to_text(comparison, left, right);
  EXPECT_GE(left.streams.size(), 2u);
  for (const Trial::Stream& stream : left.streams) {
    EXPECT_FALSE(stream.dwords.empty());
    EXPECT_FALSE(stream.names.empty()) << stream.queue;
  }
  EXPECT_EQ(left.nodes.size(), right.nodes.size());
  EXPECT_FALSE(left.nodes.empty());
}

TEST_P(EveryWorkload, GivesTheSameMemoryOnAnotherFamily) {
  const Trial left = run_on(kMachine), right = run_on("mock:gfx1030,cu=8");
  const Comparison comparison = compare(left, right);
  EXPECT_TRUE(comparison.equal()) << to_text(comparison, left, right);
  EXPECT_FALSE(row(comparison, "stream", "all").compared);
}

INSTANTIATE_TEST_SUITE_P(All, EveryWorkload,
                         ::testing::Combine(::testing::Range(size_t{0}, workloads().size()),
                                            ::testing::Values(GraphExecutor::Pm4Sdma,
                                                              GraphExecutor::Aql)),
                         [](const auto& info) {
                           return std::string(workloads()[std::get<0>(info.param)].name) +
                                  (std::get<1>(info.param) == GraphExecutor::Aql ? "Aql" : "Pm4");
                         });

TEST(Comparison, TheResultIsTheSources) {
  const Trial trial = run(kMachine, pipeline());
  const auto* out = reinterpret_cast<const uint32_t*>(trial.buffers.back().content.data());
  // The second launch: (i * 11 + 7) * 5 + 7, of i from 1 on.
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(out[i], ((i + 1) * 11 + 7) * 5 + 7);
}

TEST(Comparison, AChangedByteIsFound) {
  const Trial left = run(kMachine, pipeline());
  Trial right = left;
  right.buffers[3].content[0x41] ^= std::byte{0x80};
  const Comparison comparison = compare(left, right);
  EXPECT_FALSE(comparison.equal());
  EXPECT_THAT(row(comparison, "memory", "out").detail, HasSubstr("first at bytes 0x41 to 0x41"));
  EXPECT_TRUE(row(comparison, "memory", "in").equal);
}

TEST(Comparison, AChangedSignalIsFound) {
  const Trial left = run(kMachine, pipeline());
  Trial right = left;
  right.signals[0].value = 41;
  EXPECT_EQ(row(compare(left, right), "signal", "done").detail, "42 and 41");
}

TEST(Comparison, AChangedPacketIsNamedByItsField) {
  const Trial left = run(kMachine, pipeline());
  Trial right = left;
  for (Trial::Stream& stream : right.streams) {
    if (stream.language == packets::Language::Sdma) stream.dwords[1] += 4;
  }
  const Comparison comparison = compare(left, right);
  EXPECT_FALSE(comparison.equal());
  const auto& changed = row(comparison, "stream", "sdma");
  EXPECT_FALSE(changed.equal);
  EXPECT_THAT(changed.detail, HasSubstr(" -> "));
  EXPECT_TRUE(row(comparison, "stream", "pm4").equal);
}

TEST(Comparison, AMissingStreamIsFound) {
  const Trial left = run(kMachine, pipeline());
  Trial right = left;
  right.streams.pop_back();
  EXPECT_FALSE(compare(left, right).equal());
  const auto json = nlohmann::json::parse(to_json(compare(left, right), left, right));
  EXPECT_EQ(json["equal"], false);
}

TEST(Comparison, AMachineThatIsNoneIsAnError) {
  EXPECT_FALSE(TrialMachine::open("mock:gfx77"));
  EXPECT_FALSE(TrialMachine::open("cuda"));
  EXPECT_FALSE(TrialMachine::open(kMachine, 1));
}

}  // namespace
}  // namespace doppel::compare
