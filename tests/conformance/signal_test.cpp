// Signals, waits and timelines between host and queues, and timestamps.
#include <array>

#include "tests/conformance/conformance.h"

namespace doppel::conformance {
namespace {

class SignalTest : public ConformanceTest {};
class QueueSignalTest : public ComputeTest {};
DOPPEL_INSTANTIATE_COMPUTE(QueueSignalTest);

TEST_F(SignalTest, HoldsWhatTheHostStores) {
  Signal signal = make_signal({.initial = -7});
  EXPECT_EQ(signal.value(), -7);
  signal.set(int64_t{1} << 40);
  EXPECT_EQ(signal.value(), int64_t{1} << 40);
  EXPECT_OK(signal.wait(int64_t{1} << 40));
  EXPECT_EQ(Signal().value(), 0);
  EXPECT_ERROR(Signal().wait(1), StatusCode::InvalidArgument, "empty");
}

TEST_F(SignalTest, ThousandsAreDistinct) {
  std::vector<Signal> signals;
  for (int index = 0; index < 3000; ++index) {
    signals.push_back(make_signal({.initial = index, .interrupt = index % 2 == 0}));
  }
  for (int index = 0; index < 3000; ++index) ASSERT_EQ(signals[index].value(), index);
}

TEST_F(SignalTest, WaitThatNothingSatisfiesEndsWithAReport) {
  const Signal signal = make_signal({.initial = 3});
  const auto result = signal.wait(9, {.timeout = std::chrono::milliseconds(200)});
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().code() == StatusCode::Timeout ||
              result.error().code() == StatusCode::Deadlock);
  EXPECT_THAT(result.error().message(), ::testing::HasSubstr("to become >= 9 (it is 3)"));
}

TEST_P(QueueSignalTest, DeviceStoresAndHostWaits) {
  for (bool interrupt : {true, false}) {
    const Signal signal = make_signal({.interrupt = interrupt});
    EXPECT_OK(compute().signal(signal, 5).submit());
    EXPECT_OK(signal.wait(5));
    EXPECT_EQ(signal.value(), 5);
    EXPECT_OK(gpu().sdma().signal(signal, 6).submit());
    EXPECT_OK(signal.wait(6, {.condition = SignalCondition::Equal}));
  }
}

TEST_P(QueueSignalTest, WideValuesAreStoredWhole) {
  const Signal signal = make_signal();
  const uint64_t wide = 0x1234'5678'9abcull;
  EXPECT_OK(compute().signal(signal, wide).submit());
  EXPECT_OK(signal.wait(static_cast<int64_t>(wide)));
}

TEST_P(QueueSignalTest, HostReleasesAWaitingQueue) {
  Signal gate = make_signal();
  const Signal done = make_signal();
  EXPECT_OK(compute().wait(gate, 1).signal(done, 1).submit());
  EXPECT_FALSE(done.wait(1, {.timeout = std::chrono::milliseconds(50)}));
  gate.set(1);
  EXPECT_OK(done.wait(1));
}

TEST_P(QueueSignalTest, EveryCondition) {
  const std::array<std::pair<SignalCondition, uint64_t>, 4> cases{{
      {SignalCondition::GreaterEqual, 4},
      {SignalCondition::Equal, 7},
      {SignalCondition::NotEqual, 0},
      {SignalCondition::Less, 8},
  }};
  for (const auto& [condition, wanted] : cases) {
    Signal gate = make_signal({.initial = condition == SignalCondition::Less ? 100 : 0});
    const Signal compute_done = make_signal(), sdma_done = make_signal();
    EXPECT_OK(compute().wait(gate, wanted, condition).signal(compute_done, 1).submit());
    EXPECT_OK(gpu().sdma().wait(gate, wanted, condition).signal(sdma_done, 1).submit());
    EXPECT_FALSE(compute_done.wait(1, {.timeout = std::chrono::milliseconds(20)}))
        << to_string(condition);
    EXPECT_EQ(sdma_done.value(), 0) << to_string(condition);
    gate.set(7);
    EXPECT_OK(compute_done.wait(1));
    EXPECT_OK(sdma_done.wait(1));
  }
}

/// Copy in, two kernels, copy out, on three queues that only signals order.
TEST_P(QueueSignalTest, PipelineAcrossQueues) {
  auto program = load("saxpy");
  if (!program) return;
  constexpr uint32_t kCount = 20000;
  const std::vector<float> x(kCount, 3.0f);
  const Allocation host_in = upload(x, {.domain = MemoryDomain::Host});
  const Allocation host_out = allocate(kCount * 4, {.domain = MemoryDomain::Host});
  const Allocation dx = allocate(kCount * 4);
  const Allocation dy = upload(std::vector<float>(kCount, 1.0f));
  const Signal timeline = make_signal();
  const auto kernel = program->kernel("saxpy");
  // Submitted back to front.
  EXPECT_OK(gpu().sdma().wait(timeline, 3).copy(dy, host_out).signal(timeline, 4).submit());
  const auto out_queue = make_queue({.kind = QueueKind::Sdma});
  ASSERT_NE(out_queue, nullptr);
  EXPECT_OK(compute()
                .wait(timeline, 1)
                .memory_barrier()
                .exec(kernel, args(dx, dy, 2.0f, kCount), 10, 256)
                .signal(timeline, 2)
                .wait(timeline, 2)
                .exec(kernel, args(dx, dy, 10.0f, kCount), 10, 256)
                .signal(timeline, 3)
                .submit());
  EXPECT_OK(SdmaCommands(*out_queue).copy(host_in, dx).signal(timeline, 1).submit());
  EXPECT_OK(timeline.wait(4));
  for (float value : host_out.host_as<float>()) ASSERT_EQ(value, 37.0f);
}

/// Two compute queues hand a counter to each other.
TEST_P(QueueSignalTest, PingPongBetweenQueues) {
  const auto other = make_queue({.kind = GetParam()});
  ASSERT_NE(other, nullptr);
  const Signal ball = make_signal();
  for (uint64_t turn = 0; turn < 50; ++turn) {
    EXPECT_OK(compute().wait(ball, 2 * turn).signal(ball, 2 * turn + 1).submit());
    EXPECT_OK(ComputeCommands(*other).wait(ball, 2 * turn + 1).signal(ball, 2 * turn + 2).submit());
  }
  EXPECT_OK(ball.wait(100));
  EXPECT_EQ(ball.value(), 100);
}

/// A queue's own count starts again after `timeline_limit` submissions.
TEST_P(QueueSignalTest, TimelineWraps) {
  reopen({.device = {.timeline_limit = 8}});
  const auto queue = make_queue({.kind = GetParam()});
  const auto sdma = make_queue({.kind = QueueKind::Sdma});
  ASSERT_TRUE(queue && sdma);
  const Signal signal = make_signal();
  const Allocation memory = allocate(64);
  for (uint64_t round = 1; round <= 50; ++round) {
    ASSERT_OK(ComputeCommands(*queue).signal(signal, round).submit());
    ASSERT_OK(SdmaCommands(*sdma).fill(memory, static_cast<uint32_t>(round)).submit());
    if (round % 7 != 0) continue;
    ASSERT_OK(queue->synchronize());
    ASSERT_EQ(signal.value(), static_cast<int64_t>(round));
    ASSERT_EQ(queue->retired(), round);
  }
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(queue->retired(), 50u);
  EXPECT_EQ(sdma->retired(), 50u);
  EXPECT_EQ(download<uint32_t>(memory)[0], 50u);
}

TEST_P(QueueSignalTest, TimestampsAreMonotonicAndConvert) {
  auto program = load("saxpy");
  if (!program) return;
  const Allocation x = upload(std::vector<float>(65536, 1.0f));
  const Allocation y = upload(std::vector<float>(65536, 1.0f));
  const Signal first = make_signal(), second = make_signal();
  EXPECT_OK(compute()
                .timestamp(first)
                .exec(program->kernel("saxpy"), args(x, y, 1.0f, 65536u), 64, 256)
                .timestamp(first, Timestamp::End)
                .timestamp(second)
                .exec(program->kernel("saxpy"), args(x, y, 1.0f, 65536u), 64, 256)
                .timestamp(second, Timestamp::End)
                .submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_GT(first.start_ticks(), 0u);
  EXPECT_LT(first.start_ticks(), first.end_ticks());
  EXPECT_LE(first.end_ticks(), second.start_ticks());
  EXPECT_LT(second.start_ticks(), second.end_ticks());

  const auto fit = gpu().clock_fit();
  ASSERT_OK(fit);
  EXPECT_NEAR(fit->ns_per_tick, 10.0, 0.5) << "the counter runs at 100 MHz";
  EXPECT_GE(fit->to_host_ns(first.start_ticks()), static_cast<double>(fit->host_origin_ns));
  EXPECT_LT(fit->to_host_ns(first.start_ticks()), fit->to_host_ns(second.end_ticks()));
  EXPECT_GT(fit->duration_ns(first.start_ticks(), first.end_ticks()), 0.0);
}

TEST_F(SignalTest, SdmaTimestampsShareTheClock) {
  const Allocation memory = allocate(uint64_t{8} << 20);
  const Signal copy = make_signal(), kernel = make_signal();
  EXPECT_OK(gpu().compute().timestamp(kernel).submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_OK(gpu().sdma().timestamp(copy).fill(memory, 1).timestamp(copy, Timestamp::End).submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_OK(gpu().compute().timestamp(kernel, Timestamp::End).submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_LE(kernel.start_ticks(), copy.start_ticks());
  EXPECT_LT(copy.start_ticks(), copy.end_ticks());
  EXPECT_LE(copy.end_ticks(), kernel.end_ticks());
}

}  // namespace
}  // namespace doppel::conformance
