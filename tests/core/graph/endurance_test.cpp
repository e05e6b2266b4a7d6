// Ten thousand replays with rotating inputs, on one to four GPUs: the results are those of the CPU
// all the way, and nothing is used up on the way: no host memory, no call to the driver (so no
// device memory, queue or event), no signal.
//
// This binary counts what operator new hands out.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/open_device.h"
#include "tests/core/graph/random_graph.h"
#include "tests/paths.h"

namespace {

std::atomic<int64_t> live_blocks = 0;
std::atomic<int64_t> live_bytes = 0;

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  ++live_blocks;
  live_bytes += static_cast<int64_t>(malloc_usable_size(block));
  return block;
}

}  // namespace

void* operator new(size_t bytes) {
  return counted(std::malloc(bytes));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  void* block = std::malloc(bytes);
  return block == nullptr ? nullptr : counted(block);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  --live_blocks;
  live_bytes -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}
void operator delete(void* block, size_t) noexcept {
  operator delete(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  operator delete(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  operator delete(block);
}

namespace doppel::test {
namespace {

constexpr uint32_t kWords = 64;
constexpr uint64_t kBytes = kWords * sizeof(uint32_t);
constexpr int kInputs = 3;
constexpr int kWarmUp = 500;
constexpr int kReplays = 10'000;

/// What a GPU's queues may hold more than at another moment, however many launches lie between: a
/// std::deque of submissions in flight is one chunk longer or shorter as it moves on.
constexpr int64_t kJitterBlocks = 8, kJitterBytes = 8192;

/// Counts the calls of a record (OpenOptions::record), but for the waits.
class CallCounter final : public std::streambuf {
 public:
  uint64_t calls() const { return calls_; }

 protected:
  int_type overflow(int_type character) override {
    if (character != '\n') {
      line_ += static_cast<char>(character);
      return character;
    }
    if (line_.find("WAIT_EVENTS") == std::string::npos) ++calls_;
    line_.clear();
    return character;
  }

 private:
  std::string line_;
  uint64_t calls_ = 0;
};

/// What may grow from launch to launch, and must not.
struct Usage {
  int64_t blocks = 0, bytes = 0;  // of host memory
  uint64_t driver_calls = 0;
  uint64_t next_signal = 0;  // the address that the pool gives out next
};

/// One GPU's share: sum += input * 3, handed on to the next GPU, which adds it to its total.
struct Member {
  Device* device = nullptr;
  std::vector<Allocation> inputs;
  Allocation sum, inbox, total;
  GraphNode first;
};

using Words = std::vector<uint32_t>;

class Endurance : public testing::TestWithParam<std::tuple<uint32_t, GraphExecutor>> {
 protected:
  void open();
  void record(uint32_t index);
  void expect_equal(const MemoryView& memory, const Words& expected, Device& device) {
    const auto actual = device.read<uint32_t>(memory);
    ASSERT_TRUE(actual) << actual.error().to_string();
    EXPECT_EQ(*actual, expected);
  }
  Usage usage() {
    const uint64_t signal = devices_[0]->create_signal({.interrupt = false})->ref().address;
    return {live_blocks, live_bytes, counter_.calls(), signal};
  }
  static Words input_values(uint32_t gpu, int input) {
    Words words(kWords);
    for (uint32_t i = 0; i < kWords; ++i) words[i] = 1 + i * 7 + gpu * 1000 + input * 100'000u;
    return words;
  }

  CallCounter counter_;
  std::ostream record_{&counter_};
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Program> programs_;
  std::vector<Member> members_;
  Graph graph_;
};

void Endurance::open() {
  const uint32_t count = std::get<0>(GetParam());
  auto devices = open_devices(fmt::format("mock:gfx1100,cu=2,vram=64MiB,count={}", count),
                              {.device = {}, .record = &record_});
  ASSERT_TRUE(devices) << devices.error().to_string();
  devices_ = *std::move(devices);
  for (uint32_t gpu = 0; gpu < count; ++gpu) {
    Device& device = *devices_[gpu];
    programs_.push_back(*device.load_program(kernel_file("graph_kernels.gfx1100.co")));
    Member member;
    member.device = &device;
    for (int input = 0; input < kInputs; ++input) {
      member.inputs.push_back(*device.allocate(kBytes, {.cpu_visible = true}));
      ASSERT_TRUE(device.write(member.inputs.back(), input_values(gpu, input)));
    }
    for (Allocation Member::*buffer : {&Member::sum, &Member::inbox, &Member::total}) {
      member.*buffer = *device.allocate(kBytes, {.cpu_visible = true});
      ASSERT_TRUE(device.write(member.*buffer, Words(kWords)));
    }
    members_.push_back(std::move(member));
  }
}

void Endurance::record(uint32_t index) {
  Member& member = members_[index];
  const auto next = (index + 1) % members_.size();
  member.first = graph_.kernel(programs_[index].kernel("accumulate"),
                               args(member.inputs[0], member.sum, kWords), 1, kWords);
  graph_.copy(member.sum, members_[next].inbox, {.device = member.device});
  graph_.kernel(programs_[next].kernel("accumulate"),
                args(members_[next].inbox, members_[next].total, kWords), 1, kWords);
}

TEST_P(Endurance, TenThousandReplaysUseNothingUpAndDoNotDrift) {
  open();
  if (HasFatalFailure()) return;
  const auto count = static_cast<uint32_t>(members_.size());
  for (uint32_t index = 0; index < count; ++index) record(index);
  std::vector<Device*> devices;
  for (const auto& device : devices_) devices.push_back(device.get());
  auto exec = graph_.instantiate(devices, {.executor = std::get<1>(GetParam()), .map_peers = true});
  ASSERT_TRUE(exec) << exec.error().to_string();

  std::vector<Words> inputs[kInputs];
  for (int input = 0; input < kInputs; ++input)
    for (uint32_t gpu = 0; gpu < count; ++gpu) inputs[input].push_back(input_values(gpu, input));
  std::vector<Words> sums(count, Words(kWords)), totals(count, Words(kWords));
  Usage before;
  GraphLaunch launch = exec->launch();
  for (int replay = 1; replay <= kReplays; ++replay) {
    // The launch of the round before is in flight: the CPU does its sum in the meantime.
    const int input = (replay - 1) % kInputs;
    for (uint32_t gpu = 0; gpu < count; ++gpu) {
      for (uint32_t i = 0; i < kWords; ++i) {
        sums[gpu][i] += inputs[input][gpu][i] * 3;
        totals[(gpu + 1) % count][i] += sums[gpu][i] * 3;
      }
    }
    if (replay == kWarmUp || replay == kReplays / 2 || replay == kReplays) {
      ASSERT_TRUE(launch.wait());
      for (uint32_t gpu = 0; gpu < count; ++gpu) {
        expect_equal(members_[gpu].sum, sums[gpu], *devices_[gpu]);
        expect_equal(members_[gpu].total, totals[gpu], *devices_[gpu]);
      }
      if (HasFailure()) FAIL() << "after replay " << replay;
    }
    if (replay == kWarmUp) before = usage();
    if (replay == kReplays) break;
    for (Member& member : members_)
      ASSERT_TRUE(exec->set_buffer(member.first, 0, member.inputs[replay % kInputs]));
    launch = exec->launch();
    ASSERT_TRUE(launch.status()) << launch.status().error().to_string();
  }
  const Usage after = usage();
  EXPECT_LE(after.blocks, before.blocks + kJitterBlocks * count) << "host allocations alive";
  EXPECT_LE(after.bytes, before.bytes + kJitterBytes * count) << "bytes of host memory";
  EXPECT_EQ(after.driver_calls, before.driver_calls) << "calls to the driver";
  EXPECT_EQ(after.next_signal, before.next_signal) << "signals are missing from the pool";
}

INSTANTIATE_TEST_SUITE_P(, Endurance,
                         testing::Combine(testing::Range(1u, 5u),
                                          testing::Values(GraphExecutor::Pm4Sdma,
                                                          GraphExecutor::Aql)),
                         [](const auto& info) {
                           return fmt::format(
                               "{}Gpu{}{}", std::get<0>(info.param),
                               std::get<0>(info.param) == 1 ? "" : "s",
                               std::get<1>(info.param) == GraphExecutor::Aql ? "Aql" : "Pm4");
                         });

}  // namespace
}  // namespace doppel::test
