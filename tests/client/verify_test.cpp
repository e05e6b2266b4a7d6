// Checks beside other people's programs: what they do right is silent, what they don't is named.
#include <nlohmann/json.hpp>

#include "tests/client/run_client.h"
#include "tests/paths.h"

namespace doppel::client {
namespace {

using nlohmann::json;

constexpr int kFindingsStatus = 86;

class VerifiedClient : public ::testing::TestWithParam<const char*> {};

TEST_P(VerifiedClient, IsSilent) {
  REQUIRE_HIP_CLIENT(GetParam());
  const std::string name = std::string("verified_") + GetParam();
  const CountedOutcome outcome =
      run_counted(name, "--gpu gfx1030,cu=4 --count 2 --verify all", hip_client(GetParam()));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_GT(outcome.counters.wave_instructions, 0u);
}

INSTANTIATE_TEST_SUITE_P(Hip, VerifiedClient,
                         ::testing::Values("atomics", "graph", "matmul", "memcpy", "peer",
                                           "reduction", "rocrand", "scratch", "streams",
                                           "vector_add"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(VerifiedClients, TheExamplesAreSilent) {
  for (const char* example :
       {"graph_demo --backend kfd --count 20000", "train_tiny --backend kfd --executor pm4",
        "train_tiny --backend kfd --executor aql"}) {
    const Outcome outcome = run("--gpu gfx1100,cu=4 --verify all",
                                (doppel::test::binary_dir() / "bin" / example).string());
    EXPECT_EQ(outcome.status, 0) << example << "\n" << outcome.output;
  }
}

/// Whether the second stream's kernel comes too early is up to the schedule; that nothing keeps it
/// from doing so isn't.
TEST(VerifiedClients, StreamsThatNothingOrdersAreNamed) {
  REQUIRE_HIP_CLIENT("unordered_streams");
  const std::string file = scratch_file("unordered_streams.json");
  const Outcome outcome = run("--gpu gfx1030,cu=4 --verify hazards --findings " + file,
                              hip_client("unordered_streams"));
  EXPECT_EQ(outcome.status, kFindingsStatus) << outcome.output;
  EXPECT_TRUE(outcome.says("ordered: 0")) << outcome.output;
  const json report = json::parse(read_file(file));
  ASSERT_EQ(report["findings"].size(), 1u) << report.dump(2);
  const json& finding = report["findings"][0];
  EXPECT_TRUE(finding["rule"] == "read-after-write" || finding["rule"] == "write-after-read");
  std::string kernels;
  for (const json& culprit : finding["culprits"]) {
    kernels += culprit["kernel"]["name"].get<std::string>() + " ";
  }
  EXPECT_NE(kernels.find("produce"), std::string::npos) << kernels;
  EXPECT_NE(kernels.find("consume"), std::string::npos) << kernels;
}

TEST(VerifiedClients, StreamsThatAnEventOrdersAreSilent) {
  REQUIRE_HIP_CLIENT("unordered_streams");
  const Outcome outcome =
      run("--gpu gfx1030,cu=4 --verify all", hip_client("unordered_streams") + " ordered");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(VerifiedClients, ASuppressionNeedsItsReason) {
  REQUIRE_HIP_CLIENT("unordered_streams");
  const std::string file = scratch_file("suppressions");
  const auto silence = [&](const char* line) {
    EXPECT_EQ(shell(fmt::format("echo '{}' > {}", line, file)).status, 0);
    return run("--gpu gfx1030,cu=4 --verify hazards --suppress " + file,
               hip_client("unordered_streams"));
  };
  EXPECT_EQ(silence("hazard # seeded").status, 0);
  const Outcome refused = silence("hazard");
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(refused.says("A suppression says why")) << refused.output;
}

TEST(VerifiedClients, AnUnknownCheckIsRefused) {
  const Outcome outcome = run("--verify hazard", "true");
  EXPECT_NE(outcome.status, 0);
  EXPECT_TRUE(outcome.says("There is no such check (hazard)")) << outcome.output;
}

}  // namespace
}  // namespace doppel::client
