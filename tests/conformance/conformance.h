// The conformance suite's ground: one device per test, opened by the name that the command line
// gives, closed afterwards with a leak check. The tests use the abstract interface alone, so that
// every backend runs the same binary.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/open_device.h"
#include "core/device.h"

namespace doppel {
/// How GoogleTest names a test parameter.
inline void PrintTo(QueueKind kind, std::ostream* out) {
  *out << to_string(kind);
}
}  // namespace doppel

namespace doppel::conformance {

/// What the command line says.
struct Settings {
  std::string device = "mock:gfx1100";
  Verify verify;
};
Settings& settings();

class ConformanceTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Opens the device anew with other options; before anything has been made on it.
  void reopen(OpenOptions options);
  Device& gpu() { return *gpu_; }

  /// The test has stopped a queue: the device may not drain, and is closed without a leak check.
  void expect_fault() { faulted_ = true; }

  /// A kernel file of tests/kernels for the device's target. Skips the test if the build has none
  /// for it; use as `auto program = load("saxpy"); if (!program) return;`.
  std::optional<Program> load(const std::string& stem);

  Allocation allocate(uint64_t bytes, const AllocationOptions& options = {});
  template <class T>
  Allocation upload(const std::vector<T>& values, const AllocationOptions& options = {}) {
    Allocation memory = allocate(values.size() * sizeof(T), options);
    const auto written = gpu().write(memory, values);
    EXPECT_TRUE(written) << written.error().to_string();
    return memory;
  }
  template <class T>
  std::vector<T> download(const MemoryView& view) {
    auto values = gpu().read<T>(view);
    EXPECT_TRUE(values) << values.error().to_string();
    return values ? *std::move(values) : std::vector<T>();
  }
  Signal make_signal(const SignalOptions& options = {});
  std::unique_ptr<Queue> make_queue(const QueueOptions& options);

 private:
  std::unique_ptr<Device> gpu_;
  bool faulted_ = false;
};

/// A test that runs on PM4 and on AQL compute queues.
class ComputeTest : public ConformanceTest, public ::testing::WithParamInterface<QueueKind> {
 protected:
  ComputeCommands compute() { return GetParam() == QueueKind::Aql ? gpu().aql() : gpu().compute(); }
};

#define DOPPEL_INSTANTIATE_COMPUTE(Suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(Queues, Suite, ::testing::Values(QueueKind::Pm4, QueueKind::Aql), \
                           [](const auto& info) { return std::string(to_string(info.param)); })

/// `count` reproducible values of varied bit patterns.
std::vector<uint32_t> pattern(size_t count, uint32_t seed = 1);

/// EXPECT_OK(result): the Result holds a value; its status otherwise.
#define EXPECT_OK(expression)                                                    \
  do {                                                                           \
    const auto& doppel_result = (expression);                                    \
    EXPECT_TRUE(doppel_result.has_value()) << doppel_result.error().to_string(); \
  } while (false)
#define ASSERT_OK(expression)                                                    \
  do {                                                                           \
    const auto& doppel_result = (expression);                                    \
    ASSERT_TRUE(doppel_result.has_value()) << doppel_result.error().to_string(); \
  } while (false)

/// The Result is an error of that code whose message holds `text`.
#define EXPECT_ERROR(expression, expected_code, text)                                            \
  do {                                                                                           \
    const auto& doppel_result = (expression);                                                    \
    ASSERT_FALSE(doppel_result.has_value());                                                     \
    EXPECT_EQ(doppel_result.error().code(), expected_code) << doppel_result.error().to_string(); \
    EXPECT_THAT(doppel_result.error().message(), ::testing::HasSubstr(text));                    \
  } while (false)

}  // namespace doppel::conformance
