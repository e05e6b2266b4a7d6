#include "tests/conformance/conformance.h"

#include <filesystem>

#include "core/prng.h"
#include "core/verify/gtest.h"
#include "tests/paths.h"

namespace doppel::conformance {

Settings& settings() {
  static Settings instance;
  return instance;
}

void ConformanceTest::SetUp() {
  reopen({});
}

void ConformanceTest::reopen(OpenOptions options) {
  options.verify = settings().verify;
  gpu_.reset();
  auto device = open_device(settings().device, options);
  ASSERT_TRUE(device) << device.error().to_string();
  gpu_ = *std::move(device);
}

void ConformanceTest::TearDown() {
  if (gpu_ == nullptr) return;
  if (faulted_) {
    gpu_.reset();
    return;
  }
  const auto closed = gpu_->close();
  EXPECT_TRUE(closed) << closed.error().to_string();
  if (settings().verify.any()) {
    EXPECT_NO_FINDINGS(gpu());
  }
}

std::optional<Program> ConformanceTest::load(const std::string& stem) {
  const auto path = test::kernel_file(stem + "." + std::string(gpu().target().name) + ".co");
  if (!std::filesystem::exists(path)) {
    [&] { GTEST_SKIP() << "the build has no " << path; }();
    return std::nullopt;
  }
  auto program = gpu().load_program(path);
  EXPECT_TRUE(program) << program.error().to_string();
  return program ? std::optional(*std::move(program)) : std::nullopt;
}

Allocation ConformanceTest::allocate(uint64_t bytes, const AllocationOptions& options) {
  auto memory = gpu().allocate(bytes, options);
  EXPECT_TRUE(memory) << memory.error().to_string();
  return memory ? *std::move(memory) : Allocation();
}

Signal ConformanceTest::make_signal(const SignalOptions& options) {
  auto signal = gpu().create_signal(options);
  EXPECT_TRUE(signal) << signal.error().to_string();
  return signal ? *std::move(signal) : Signal();
}

std::unique_ptr<Queue> ConformanceTest::make_queue(const QueueOptions& options) {
  auto queue = gpu().create_queue(options);
  EXPECT_TRUE(queue) << queue.error().to_string();
  return queue ? *std::move(queue) : nullptr;
}

std::vector<uint32_t> pattern(size_t count, uint32_t seed) {
  Prng random(seed);
  std::vector<uint32_t> values(count);
  for (uint32_t& value : values) value = static_cast<uint32_t>(random.next());
  return values;
}

}  // namespace doppel::conformance
