// Queues as such: creation, limits, ring wrap, closing; and what a faulting one does to the others.
#include <atomic>
#include <thread>

#include "tests/conformance/conformance.h"

namespace doppel::conformance {
namespace {

class QueueTest : public ConformanceTest {};
class ComputeQueueTest : public ComputeTest {};
DOPPEL_INSTANTIATE_COMPUTE(ComputeQueueTest);

TEST_F(QueueTest, ImpossibleQueuesAreRefused) {
  for (QueueKind kind : {QueueKind::Pm4, QueueKind::Aql, QueueKind::Sdma}) {
    EXPECT_ERROR(gpu().create_queue({.kind = kind, .ring_bytes = 0}), StatusCode::InvalidArgument,
                 "(0 bytes)");
    EXPECT_ERROR(gpu().create_queue({.kind = kind, .ring_bytes = 12288}),
                 StatusCode::InvalidArgument, "power of two");
    EXPECT_ERROR(gpu().create_queue({.kind = kind, .priority = 16}), StatusCode::InvalidArgument,
                 "(16)");
  }
}

TEST_F(QueueTest, DefaultQueuesAreMadeOnce) {
  for (QueueKind kind : {QueueKind::Pm4, QueueKind::Aql, QueueKind::Sdma}) {
    const auto first = gpu().default_queue(kind), again = gpu().default_queue(kind);
    ASSERT_OK(first);
    EXPECT_EQ(*first, *again);
    EXPECT_EQ((*first)->kind(), kind);
    EXPECT_EQ(&(*first)->device(), &gpu());
  }
}

TEST_F(QueueTest, CommandsOfAnotherKindAreRefused) {
  const auto queue = make_queue({.kind = QueueKind::Sdma});
  ASSERT_NE(queue, nullptr);
  Submission submission(QueueKind::Pm4, gpu().target().family);
  Pm4Encoder(submission.commands).memory_barrier();
  EXPECT_ERROR(queue->submit(std::move(submission)), StatusCode::InvalidArgument, "(sdma)");
  EXPECT_ERROR(queue->scratch(64, 32), StatusCode::InvalidArgument, "no kernels");
}

TEST_F(QueueTest, EmptyRecordingIsNothing) {
  EXPECT_OK(gpu().compute().submit());
  EXPECT_OK(gpu().sdma().submit());
  EXPECT_OK(gpu().synchronize());
  auto commands = gpu().compute();
  EXPECT_OK(commands.memory_barrier().submit());
  EXPECT_ERROR(commands.submit(), StatusCode::InvalidArgument, "submitted already");
}

TEST_P(ComputeQueueTest, RingWrapsManyTimes) {
  auto program = load("saxpy");
  if (!program) return;
  const auto queue = make_queue({.kind = GetParam(), .ring_bytes = 4096});
  ASSERT_NE(queue, nullptr);
  const Allocation x = upload(std::vector<float>(32, 1.0f));
  const Allocation y = upload(std::vector<float>(32, 0.0f));
  for (int round = 0; round < 400; ++round) {
    ASSERT_OK(ComputeCommands(*queue)
                  .exec(program->kernel("saxpy"), args(x, y, 1.0f, 32u), 1, 32)
                  .submit());
  }
  EXPECT_OK(queue->synchronize());
  EXPECT_EQ(download<float>(y), std::vector<float>(32, 400.0f));
}

TEST_P(ComputeQueueTest, RecordingLongerThanTheRingIsRefused) {
  auto program = load("empty");
  if (!program) return;
  const auto queue = make_queue({.kind = GetParam(), .ring_bytes = 4096});
  ASSERT_NE(queue, nullptr);
  ComputeCommands commands(*queue);
  for (int round = 0; round < 70; ++round) commands.exec(program->kernel("empty"), args(), 1, 1);
  EXPECT_ERROR(commands.submit(), StatusCode::OutOfRange, "longer than the");
  EXPECT_OK(ComputeCommands(*queue).exec(program->kernel("empty"), args(), 1, 1).submit());
  EXPECT_OK(queue->synchronize());
}

TEST_P(ComputeQueueTest, ManyQueuesAtOnce) {
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<Signal> signals;
  for (int index = 0; index < 8; ++index) {
    queues.push_back(make_queue({.kind = GetParam(), .ring_bytes = 4096}));
    signals.push_back(make_signal());
    ASSERT_NE(queues.back(), nullptr);
    EXPECT_OK(ComputeCommands(*queues.back()).signal(signals.back(), index + 1).submit());
  }
  for (int index = 7; index >= 0; --index) EXPECT_OK(signals[index].wait(index + 1));
}

TEST_P(ComputeQueueTest, ThreadsShareAQueue) {
  const auto queue = make_queue({.kind = GetParam(), .ring_bytes = 4096});
  ASSERT_NE(queue, nullptr);
  constexpr uint64_t kThreads = 4, kRounds = 100;
  std::vector<Signal> signals;
  for (uint64_t index = 0; index < kThreads; ++index) signals.push_back(make_signal());
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (uint64_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      for (uint64_t round = 1; round <= kRounds; ++round) {
        failures += !ComputeCommands(*queue)
                         .wait(signals[index], round - 1)
                         .signal(signals[index], round)
                         .submit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_OK(queue->synchronize());
  for (const Signal& signal : signals) EXPECT_EQ(signal.value(), int64_t{kRounds});
  EXPECT_EQ(queue->retired(), kThreads * kRounds);
}

TEST_P(ComputeQueueTest, WaitForNobodyIsReported) {
  expect_fault();
  const Signal never = make_signal(), done = make_signal();
  EXPECT_OK(compute().wait(never, 1).signal(done, 1).submit());
  const auto result = done.wait(1, {.timeout = std::chrono::milliseconds(300)});
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().code() == StatusCode::Timeout ||
              result.error().code() == StatusCode::Deadlock)
      << result.error().to_string();
}

class FaultTest : public ComputeTest {
 protected:
  void SetUp() override {
    ComputeTest::SetUp();
    expect_fault();
  }
  /// An address that nothing maps: what has just been freed, with all that the test needs in place.
  uint64_t unmapped() {
    EXPECT_OK(gpu().default_queue(GetParam()));
    EXPECT_OK(gpu().default_queue(QueueKind::Sdma));
    Allocation gone = allocate(uint64_t{1} << 21);
    const uint64_t address = gone.gpu_address() + 4096;
    EXPECT_OK(gone.release());
    return address;
  }
};
DOPPEL_INSTANTIATE_COMPUTE(FaultTest);

TEST_P(FaultTest, StrayStoreIsADeviceFault) {
  auto program = load("faults");
  if (!program) return;
  const Allocation out = allocate(4096);
  const Signal done = make_signal();
  const uint64_t where = unmapped();
  EXPECT_OK(compute()
                .exec(program->kernel("store_at"), args(out, where, 5u), 1, 64)
                .signal(done, 1)
                .submit());
  const auto result = done.wait(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault) << result.error().to_string();
  EXPECT_EQ(done.value(), 0);
}

TEST_P(FaultTest, StrayLoadIsADeviceFault) {
  auto program = load("faults");
  if (!program) return;
  const Allocation out = allocate(4096);
  EXPECT_OK(compute().exec(program->kernel("load_at"), args(out, unmapped()), 1, 64).submit());
  const auto result = gpu().synchronize();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault) << result.error().to_string();
}

TEST_P(FaultTest, IllegalInstructionIsADeviceFault) {
  auto program = load("faults");
  if (!program) return;
  EXPECT_OK(compute().exec(program->kernel("illegal_instruction"), args(), 1, 32).submit());
  const auto result = gpu().synchronize();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault) << result.error().to_string();
}

TEST_P(FaultTest, CopyFromNowhereIsADeviceFault) {
  const Allocation out = allocate(4096);
  const MemoryView nowhere{.gpu_address = unmapped(), .size = 4096};
  EXPECT_OK(gpu().sdma().copy(nowhere, out).submit());
  const auto result = gpu().synchronize();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault) << result.error().to_string();
}

TEST_P(FaultTest, OtherQueuesGoOn) {
  auto program = load("faults");
  auto saxpy = load("saxpy");
  if (!program || !saxpy) return;
  const auto victim = make_queue({.kind = GetParam()});
  ASSERT_NE(victim, nullptr);
  const Allocation out = allocate(4096);
  EXPECT_OK(ComputeCommands(*victim)
                .exec(program->kernel("store_at"), args(out, unmapped(), 0u), 1, 64)
                .submit());
  EXPECT_FALSE(victim->synchronize());

  const Allocation x = upload(std::vector<float>(64, 1.0f));
  const Allocation y = upload(std::vector<float>(64, 1.0f));
  const Signal done = make_signal();
  EXPECT_OK(compute()
                .exec(saxpy->kernel("saxpy"), args(x, y, 4.0f, 64u), 1, 64)
                .signal(done, 1)
                .submit());
  EXPECT_OK(done.wait(1));
  EXPECT_EQ(download<float>(y), std::vector<float>(64, 5.0f));
  const auto fresh = make_queue({.kind = GetParam()});
  ASSERT_NE(fresh, nullptr);
  EXPECT_OK(ComputeCommands(*fresh).signal(done, 2).submit());
  EXPECT_OK(done.wait(2));
}

}  // namespace
}  // namespace doppel::conformance
