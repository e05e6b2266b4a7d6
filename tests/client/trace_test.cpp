// `doppel run --trace`: what the client asked the driver, and what the GPUs made of it.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "tests/client/run_client.h"

namespace doppel::client {
namespace {

using Json = nlohmann::json;

std::vector<Json> read_lines(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

/// How often each call and event occurs: "ioctl CREATE_QUEUE", "packet KERNEL_DISPATCH".
std::map<std::string, int> count_calls(const std::vector<Json>& lines) {
  std::map<std::string, int> counts;
  for (const Json& line : lines) {
    std::string key = line.contains("call") ? line["call"] : line.at("event");
    if (line.contains("name")) key += " " + line["name"].get<std::string>();
    ++counts[key];
  }
  return counts;
}

TEST(Trace, OfAHipProgramHasEveryKindOfLine) {
  REQUIRE_HIP_CLIENT("vector_add");
  const std::string file = scratch_file("vector_add.trace");
  const Outcome outcome = run("--gpu gfx1030,cu=4 --trace " + file,
                              "env HSA_ENABLE_SDMA=1 " + hip_client("vector_add"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const std::vector<Json> lines = read_lines(file);
  auto counts = count_calls(lines);
  EXPECT_GE(counts["open"], 2);
  EXPECT_GE(counts["mmap"], 5);
  EXPECT_GE(counts["ioctl CREATE_QUEUE"], 3);
  EXPECT_EQ(counts["ioctl CREATE_QUEUE"], counts["queue"]);
  EXPECT_GE(counts["ioctl INFO"], 2);  // of the render node
  EXPECT_GE(counts["packet KERNEL_DISPATCH"], 1);
  EXPECT_GE(counts["packet COPY_LINEAR"], 3);
  EXPECT_EQ(counts["dispatch"], counts["dispatch_done"]);
  EXPECT_EQ(counts["fault"], 0);
  bool found = false;
  for (const Json& line : lines) {
    if (line.value("event", "") != "dispatch" ||
        line["kernel"] != "vector_add(float const*, float const*, float*, int)")
      continue;
    found = true;
    EXPECT_EQ(line["grid"], Json({391, 1, 1}));
    EXPECT_EQ(line["workgroup"], Json({256, 1, 1}));
    EXPECT_EQ(line["wave"], 32);
  }
  EXPECT_TRUE(found);
}

// The tracer of real drivers, on ours: it sees the same ioctls.
TEST(Trace, OfTheDriversCallsAloneAgrees) {
  REQUIRE_PROGRAM("rocminfo");
  const std::string inner = scratch_file("rocminfo.calls");
  const std::string outer = scratch_file("rocminfo.trace");
  const Outcome outcome =
      run("--gpu gfx1030,cu=4 --trace " + outer,
          fmt::format("{} trace --output {} -- rocminfo", doppel_program(), inner));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const auto calls = read_lines(inner);
  ASSERT_GE(calls.size(), 20u);
  std::vector<Json> expected;
  for (Json& line : read_lines(outer)) {
    if (line.value("call", "") == "ioctl") expected.push_back(line);
  }
  EXPECT_EQ(calls, expected);
}

TEST(Trace, WithoutADriverIsEmpty) {
  const std::string file = scratch_file("true.calls");
  const Outcome outcome =
      shell(fmt::format("{} trace --output {} -- true", doppel_program(), file));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(read_file(file), "");
}

}  // namespace
}  // namespace doppel::client
