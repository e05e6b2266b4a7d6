// What a program can get wrong with the library's objects: each is refused in words, whatever has
// become of the object behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "backends/open_device.h"
#include "core/files.h"
#include "core/graph.h"
#include "tests/paths.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Device> open_gpu() {
  auto gpu = open_device("mock:gfx1100,cu=2,vram=64MiB");
  EXPECT_TRUE(gpu) << gpu.error().to_string();
  return *std::move(gpu);
}

template <class T>
std::optional<StatusCode> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code());
}

TEST(Misuse, ClosedDevicesRefuseRecordings) {
  const auto gpu = open_gpu();
  const Signal done = gpu->create_signal().value();
  ComputeCommands compute = gpu->compute();
  SdmaCommands sdma = gpu->sdma();
  Queue* queue = gpu->default_queue(QueueKind::Pm4).value();
  compute.signal(done, 1);
  sdma.signal(done, 1);
  (void)gpu->close();
  EXPECT_EQ(code_of(compute.submit()), StatusCode::Unavailable);
  EXPECT_EQ(code_of(sdma.submit()), StatusCode::Unavailable);
  EXPECT_EQ(code_of(ComputeCommands(*queue).signal(done, 1).submit()), StatusCode::Unavailable);
}

TEST(Misuse, DestroyedQueuesRefuseRecordings) {
  const auto gpu = open_gpu();
  const Signal done = gpu->create_signal().value();
  auto queue = gpu->create_queue({.kind = QueueKind::Pm4}).value();
  ComputeCommands commands(*queue);
  commands.signal(done, 1);
  queue.reset();
  EXPECT_EQ(code_of(commands.signal(done, 2).submit()), StatusCode::Unavailable);
}

TEST(Misuse, AThreadMaySubmitWhileAnotherCloses) {
  for (int round = 0; round < 20; ++round) {
    const auto gpu = open_gpu();
    const Signal done = gpu->create_signal().value();
    ASSERT_TRUE(gpu->compute().signal(done, 1).submit());
    std::jthread other([&] {
      for (uint64_t value = 2; gpu->compute().signal(done, value).submit(); ++value) {
      }
    });
    (void)gpu->close();
  }
}

TEST(Misuse, AnErrorEndsTheRecording) {
  const auto gpu = open_gpu();
  const Signal done = gpu->create_signal().value();
  ComputeCommands commands = gpu->compute();
  commands.signal(done, 1).wait(Signal(), 1);
  EXPECT_EQ(code_of(commands.submit()), StatusCode::InvalidArgument);
  EXPECT_EQ(code_of(commands.submit()), StatusCode::InvalidArgument);
  ASSERT_TRUE(gpu->synchronize());
  EXPECT_EQ(done.value(), 0);
}

TEST(Misuse, AMovedFromRecordingIsOver) {
  const auto gpu = open_gpu();
  const Signal done = gpu->create_signal().value();
  ComputeCommands first = gpu->compute();
  first.signal(done, 1);
  ComputeCommands second = std::move(first);
  EXPECT_EQ(code_of(first.submit()),
            StatusCode::InvalidArgument);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(first.stream().empty());
  EXPECT_FALSE(second.stream().empty());
  EXPECT_TRUE(second.submit());
  EXPECT_TRUE(second.stream().empty());
}

TEST(Misuse, QueuesTakeTheirOwnKindOfCommands) {
  const auto gpu = open_gpu();
  const Signal done = gpu->create_signal().value();
  Queue& sdma = *gpu->default_queue(QueueKind::Sdma).value();
  Queue& pm4 = *gpu->default_queue(QueueKind::Pm4).value();
  EXPECT_EQ(code_of(ComputeCommands(sdma).memory_barrier().signal(done, 1).submit()),
            StatusCode::InvalidArgument);
  EXPECT_EQ(code_of(SdmaCommands(pm4).signal(done, 1).submit()), StatusCode::InvalidArgument);
  EXPECT_EQ(code_of(gpu->create_queue({.kind = static_cast<QueueKind>(9)})),
            StatusCode::InvalidArgument);
}

TEST(Misuse, ViewsStayWithinTheirMemory) {
  const auto gpu = open_gpu();
  const Allocation memory = gpu->allocate(4096, {.domain = MemoryDomain::Gtt}).value();
  const MemoryView whole = memory;
  const MemoryView views[] = {
      {whole.gpu_address, 8192, whole.allocation},
      {whole.gpu_address + 4096, 4, whole.allocation},
      {whole.gpu_address - 4, 8, whole.allocation},
      {whole.gpu_address + 8, ~uint64_t{0} - 3, whole.allocation},
      {whole.gpu_address, uint64_t{1} << 60, nullptr},
  };
  std::vector<std::byte> bytes(64);
  for (const MemoryView& view : views) {
    EXPECT_EQ(code_of(gpu->sdma().fill(view, 0).submit()), StatusCode::OutOfRange);
    EXPECT_EQ(code_of(gpu->sdma().copy(view, view).submit()), StatusCode::OutOfRange);
    EXPECT_FALSE(gpu->write(view, bytes));
    EXPECT_FALSE(gpu->read(view, bytes));
    Graph graph;
    graph.fill(view, 0, {.device = gpu.get()});
    EXPECT_EQ(code_of(graph.instantiate(*gpu)), StatusCode::OutOfRange);
  }
}

TEST(Misuse, TwoMachinesDoNotShareMemory) {
  const auto mine = open_gpu(), other = open_gpu();
  const Allocation my_memory = mine->allocate(4096).value();
  const Allocation other_memory = other->allocate(4096).value();
  EXPECT_EQ(code_of(other->map(my_memory)), StatusCode::InvalidArgument);
  EXPECT_EQ(code_of(other->unmap(my_memory)), StatusCode::InvalidArgument);
  EXPECT_FALSE(other->is_mapped(my_memory));
  EXPECT_TRUE(other->is_mapped(other_memory));
}

TEST(Misuse, SubmissionsTogetherAreForDifferentQueues) {
  const auto gpu = open_gpu();
  Queue* queue = gpu->default_queue(QueueKind::Pm4).value();
  const auto submission = [] { return Submission(QueueKind::Pm4, GfxFamily::Gfx11); };
  std::vector<QueuedSubmission> twice;
  twice.push_back({queue, submission()});
  twice.push_back({queue, submission()});
  EXPECT_EQ(code_of(submit_together(std::move(twice))), StatusCode::InvalidArgument);
  std::vector<QueuedSubmission> none;
  none.push_back({nullptr, submission()});
  EXPECT_EQ(code_of(submit_together(std::move(none))), StatusCode::InvalidArgument);
}

struct FilledGraph {
  std::unique_ptr<Device> gpu = open_gpu();
  Allocation memory = gpu->allocate(4096).value();
  Graph graph;
  FilledGraph() { graph.fill(memory, 1); }
};

TEST(Misuse, GraphsSayWhatIsGone) {
  FilledGraph it;
  Graph moved = std::move(it.graph);
  EXPECT_EQ(code_of(it.graph.instantiate(*it.gpu)),  // NOLINT(bugprone-use-after-move)
            StatusCode::InvalidArgument);
  GraphExec exec = moved.instantiate(*it.gpu).value();
  GraphExec taken = std::move(exec);
  EXPECT_EQ(code_of(exec.launch().status()),  // NOLINT(bugprone-use-after-move)
            StatusCode::InvalidArgument);
  EXPECT_TRUE(taken.launch().wait());
  (void)it.gpu->close();
  EXPECT_EQ(code_of(taken.launch().status()), StatusCode::Unavailable);
}

TEST(Misuse, GraphsOfDestroyedDevicesAreRefused) {
  FilledGraph it;
  GraphExec exec = it.graph.instantiate(*it.gpu).value();
  EXPECT_TRUE(exec.launch().wait());
  it.gpu.reset();
  EXPECT_EQ(code_of(exec.launch().status()), StatusCode::Unavailable);
}

TEST(Misuse, EmptySignalsAndQueuesOfGraphsAreRefused) {
  FilledGraph it;
  const Signal empty;
  GraphExec exec = it.graph.instantiate(*it.gpu).value();
  EXPECT_EQ(code_of(exec.launch({.wait = &empty}).status()), StatusCode::InvalidArgument);
  EXPECT_EQ(code_of(exec.launch({.signal = &empty}).status()), StatusCode::InvalidArgument);
  EXPECT_TRUE(exec.launch().wait()) << "and nothing has been broken";
  EXPECT_EQ(code_of(it.graph.instantiate(*it.gpu, {.queues = {nullptr}})),
            StatusCode::InvalidArgument);
  Device* const none[] = {nullptr};
  EXPECT_EQ(code_of(it.graph.instantiate(none)), StatusCode::InvalidArgument);
}

/// Each of two threads waits for what the other is about to do.
TEST(Misuse, OtherThreadsMayEndAWait) {
  const auto gpu = open_gpu();
  const Signal ping = gpu->create_signal().value(), pong = gpu->create_signal().value();
  constexpr uint64_t kRounds = 20;
  std::jthread other([&] {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      ASSERT_TRUE(ping.wait(static_cast<int64_t>(round)));
      ASSERT_TRUE(gpu->sdma().signal(pong, round).submit());
    }
  });
  for (uint64_t round = 1; round <= kRounds; ++round) {
    ASSERT_TRUE(gpu->compute().signal(ping, round).submit());
    const auto answered = pong.wait(static_cast<int64_t>(round));
    ASSERT_TRUE(answered) << answered.error().to_string();
  }
}

TEST(Misuse, AProgramWithOneThreadIsDeadlockedAtOnce) {
  const auto gpu = open_gpu();
  const Signal never = gpu->create_signal().value();
  EXPECT_EQ(code_of(never.wait(1)), StatusCode::Deadlock);
}

TEST(Misuse, WhatIsNoFileIsNotRead) {
  const auto gpu = open_gpu();
  EXPECT_EQ(code_of(gpu->load_program(std::filesystem::path("/tmp"))), StatusCode::System);
  EXPECT_EQ(code_of(gpu->load_program(std::filesystem::path("/nowhere"))), StatusCode::NotFound);
  EXPECT_EQ(code_of(open_device("mock:profile=/tmp")), StatusCode::System);
  EXPECT_EQ(read_file("/dev/zero", 100)->size(), 100u);
}

}  // namespace
}  // namespace doppel
