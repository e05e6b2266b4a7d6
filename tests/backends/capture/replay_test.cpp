// Captures of the emulator, replayed on another: the same results, also at other addresses; what
// is changed in a trace is found, and what can't be replayed is named.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/capture/capture_kernel.h"
#include "backends/capture/replayer.h"
#include "backends/kfd/kfd_device.h"
#include "backends/mock/virtual_kernel.h"
#include "core/graph.h"
#include "tools/compare/workload.h"
#include "tools/selftest/kernels.h"

namespace doppel::capture {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMachine = "mock:gfx1100,cu=4";

std::shared_ptr<kfd::KernelAbi> machine(std::string_view name = kMachine) {
  return mock::VirtualKernel::create(mock::parse_machine(name).value()).value();
}

/// A workload's two launches.
void run(std::shared_ptr<kfd::KernelAbi> kernel, const compare::Workload& workload,
         GraphExecutor executor) {
  const auto process = kfd::KfdProcess::open(std::move(kernel)).value();
  const auto gpu = kfd::KfdDevice::open(process, 0, "gpu").value();
  const Program program = gpu->load_program(selftest::code_object_for(gpu->target())).value();
  compare::Prepared prepared = workload.prepare(*gpu, program).value();
  GraphExec exec = prepared.graph.instantiate(*gpu, {.executor = executor}).value();
  ASSERT_TRUE(exec.launch().wait());
  ASSERT_TRUE(exec.set_scalar(prepared.variable, 2, uint32_t{11}));
  ASSERT_TRUE(exec.launch().wait());
}

std::string record(const compare::Workload& workload,
                   GraphExecutor executor = GraphExecutor::Pm4Sdma) {
  std::ostringstream out;
  const auto capture = std::make_shared<CaptureKernel>(machine(), out, kMachine);
  run(capture, workload, executor);
  EXPECT_TRUE(capture->finish());
  return out.str();
}

Result<ReplayReport> replay_on(const std::string& trace, std::shared_ptr<kfd::KernelAbi> kernel,
                               const ReplayOptions& options = {}) {
  std::istringstream in(trace);
  DOPPEL_ASSIGN(TraceReader reader, TraceReader::open(in));
  return replay(reader, std::move(kernel), options);
}

/// The trace with each record replaced by what `change` makes of it.
std::string edit(const std::string& trace, const std::function<void(Record&)>& change) {
  std::istringstream in(trace);
  TraceReader reader = TraceReader::open(in).value();
  std::ostringstream out;
  TraceWriter writer(out);
  while (const auto bytes = reader.next().value()) {
    Record record = decode(*bytes).value();
    change(record);
    EXPECT_TRUE(writer.append(encode(record)));
  }
  EXPECT_TRUE(writer.finish());
  return out.str();
}

class EveryWorkload : public ::testing::TestWithParam<std::tuple<size_t, GraphExecutor>> {
 protected:
  std::string trace() const {
    return record(compare::workloads()[std::get<0>(GetParam())], std::get<1>(GetParam()));
  }
};

TEST_P(EveryWorkload, ReplaysToTheSameResults) {
  const auto report = replay_on(trace(), machine());
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(report->first) << report->first->place << "\n" << report->first->packets;
  EXPECT_GT(report->submissions, 2u);
  EXPECT_GT(report->compared_bytes, 4096u * 4);
}

TEST_P(EveryWorkload, ReplaysUnderAnotherSeed) {
  const auto report = replay_on(trace(), machine("mock:gfx1100,cu=4,seed=5"));
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(report->first) << report->first->place << "\n" << report->first->packets;
}

TEST_P(EveryWorkload, ReplaysAtOtherAddresses) {
  const auto report = replay_on(trace(), machine(), {.move = uint64_t{1} << 44});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->moved);
  EXPECT_FALSE(report->first) << report->first->place << "\n" << report->first->packets;
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryWorkload,
    ::testing::Combine(::testing::Range(size_t{0}, compare::workloads().size()),
                       ::testing::Values(GraphExecutor::Pm4Sdma, GraphExecutor::Aql)),
    [](const auto& info) {
      return std::string(compare::workloads()[std::get<0>(info.param)].name) +
             (std::get<1>(info.param) == GraphExecutor::Aql ? "Aql" : "Pm4");
    });

const std::string& pipeline_trace() {
  static const std::string trace = record(compare::workloads().front());
  return trace;
}

TEST(Replay, HoldsNoMoreThanTheClientDid) {
  const auto make = [] {
    return std::shared_ptr(
        mock::VirtualKernel::create(mock::parse_machine(kMachine).value()).value());
  };
  const auto original = make(), again = make();
  run(original, compare::workloads().front(), GraphExecutor::Pm4Sdma);
  ASSERT_TRUE(replay_on(pipeline_trace(), again));
  EXPECT_EQ(again->usage(), original->usage());
  EXPECT_EQ(again->usage().queues, 0u);
}

TEST(Replay, AnotherResultIsFound) {
  int results = 0;
  const std::string changed = edit(pipeline_trace(), [&](Record& record) {
    auto* result = std::get_if<ResultRecord>(&record);
    if (result != nullptr && result->bytes.size() >= 16384 && results++ == 0) {
      result->bytes[0x123] ^= std::byte{0x10};
    }
  });
  ASSERT_GT(results, 0);
  const auto report = replay_on(changed, machine());
  ASSERT_TRUE(report && report->first);
  EXPECT_EQ(report->differences, 1u);
  EXPECT_EQ(report->first->bytes, 1u);
  EXPECT_EQ(report->first->expected ^ report->first->got, 0x10);
  EXPECT_GT(report->first->submission, 0u);
  EXPECT_THAT(report->first->place, HasSubstr("allocation "));
  EXPECT_FALSE(report->first->packets.empty());
  const auto careless = replay_on(changed, machine(), {.compare = false});
  EXPECT_FALSE(careless->first);
}

TEST(Replay, AnotherInputShowsInTheResults) {
  int inputs = 0;
  const std::string changed = edit(pipeline_trace(), [&](Record& record) {
    auto* memory = std::get_if<MemoryRecord>(&record);
    // The first buffer of the host: 1, 2, 3, ...
    const uint32_t counting[] = {1, 2, 3, 4};
    if (memory != nullptr && memory->bytes.size() >= sizeof counting &&
        std::memcmp(memory->bytes.data(), counting, sizeof counting) == 0 && inputs++ == 0) {
      memory->bytes[0] = std::byte{9};
    }
  });
  ASSERT_GT(inputs, 0);
  const auto report = replay_on(changed, machine());
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->first);
}

TEST(Replay, AnotherMachineIsRefused) {
  const auto other = replay_on(pipeline_trace(), machine("mock:gfx1030,cu=4"));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("is gfx1100; this machine's is gfx1030"));
}

TEST(Replay, WhatCanNotBeIsNamedWithItsRecord) {
  const auto expect = [](const std::function<void(Record&)>& change, const char* text) {
    const auto report = replay_on(edit(pipeline_trace(), change), machine());
    ASSERT_FALSE(report) << text;
    EXPECT_THAT(report.error().message(), HasSubstr(text));
    EXPECT_THAT(report.error().message(), HasSubstr("Record "));
  };
  const auto ioctl = [](Record& record, unsigned long request) -> IoctlRecord* {
    auto* call = std::get_if<IoctlRecord>(&record);
    return call != nullptr && call->request == request ? call : nullptr;
  };
  expect(
      [](Record& record) {
        if (auto* submit = std::get_if<SubmitRecord>(&record)) submit->queue = 77;
      },
      "a queue that there is not (77)");
  expect(
      [](Record& record) {
        if (auto* memory = std::get_if<MemoryRecord>(&record)) memory->va = 64;
      },
      "the host does not see (0x40");
  expect(
      [&](Record& record) {
        if (auto* call = ioctl(record, AMDKFD_IOC_CREATE_QUEUE)) call->in.pop_back();
      },
      "CREATE_QUEUE has a wrong size");
  expect(
      [&](Record& record) {
        if (auto* call = ioctl(record, AMDKFD_IOC_GET_VERSION)) call->request = AMDKFD_IOC_SVM;
      },
      "can't be replayed");
  expect(
      [](Record& record) {
        if (auto* open = std::get_if<OpenRecord>(&record)) open->path = "/etc/passwd";
      },
      "no device of a GPU (/etc/passwd)");
  expect(
      [&](Record& record) {
        if (auto* call = ioctl(record, AMDKFD_IOC_MAP_MEMORY_TO_GPU)) call->gpus = {1};
      },
      "a GPU that it has not introduced (id 1)");
  expect(
      [&](Record& record) {
        auto* call = ioctl(record, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU);
        if (call == nullptr) return;
        auto* args = reinterpret_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(call->in.data());
        args->size = ~uint64_t{0} << 12;
      },
      "no whole number of pages");
}

TEST(Replay, FreedRingsAreNotTouched) {
  // All memory is freed where the first submission was.
  const std::string& trace = pipeline_trace();
  std::istringstream in(trace);
  TraceReader reader = TraceReader::open(in).value();
  std::ostringstream out;
  TraceWriter writer(out);
  std::vector<uint64_t> handles;
  int free_fd = -1;
  while (const auto bytes = reader.next().value()) {
    const Record record = decode(*bytes).value();
    if (const auto* call = std::get_if<IoctlRecord>(&record);
        call != nullptr && call->request == AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) {
      handles.push_back(
          reinterpret_cast<const kfd_ioctl_alloc_memory_of_gpu_args*>(call->out.data())->handle);
      free_fd = call->fd;
    }
    if (std::holds_alternative<SubmitRecord>(record)) {
      for (const uint64_t handle : handles) {
        IoctlRecord free{free_fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, 0, {}, {}, {}};
        const auto raw = std::as_bytes(std::span(&handle, 1));
        free.in.assign(raw.begin(), raw.end());
        ASSERT_TRUE(writer.append(encode(free)));
      }
      handles.clear();
    }
    ASSERT_TRUE(writer.append(encode(record)));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_FALSE(replay_on(out.str(), machine()));
}

TEST(Replay, CutTracesAreErrors) {
  const std::string& trace = pipeline_trace();
  for (size_t part = 1; part < 16; ++part) {
    EXPECT_FALSE(replay_on(trace.substr(0, trace.size() * part / 16), machine()));
  }
}

TEST(Capture, AClientNoticesNothing) {
  std::ostringstream out;
  const auto capture = std::make_shared<CaptureKernel>(machine(), out, kMachine);
  const auto process = kfd::KfdProcess::open(capture).value();
  const auto gpu = kfd::KfdDevice::open(process, 0, "gpu").value();
  const Allocation from = gpu->allocate(8192, {.domain = MemoryDomain::Gtt}).value();
  const Allocation to = gpu->allocate(8192, {.domain = MemoryDomain::Host}).value();
  std::ranges::fill(from.host_as<uint32_t>(), 5u);
  const Signal done = gpu->create_signal().value();
  ASSERT_TRUE(gpu->sdma().copy(from, to).signal(done, 1).submit());
  ASSERT_TRUE(done.wait(1));
  EXPECT_EQ(to.host_as<uint32_t>()[2047], 5u);
  ASSERT_TRUE(capture->finish());
  const auto report = replay_on(out.str(), machine());
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(report->first);
  EXPECT_GE(report->compared_bytes, 8192u);
}

TEST(Capture, AWaitOfOneQueueForAnotherIsReplayed) {
  std::ostringstream out;
  const auto capture = std::make_shared<CaptureKernel>(machine(), out, kMachine);
  {
    const auto process = kfd::KfdProcess::open(capture).value();
    const auto gpu = kfd::KfdDevice::open(process, 0, "gpu").value();
    const Allocation from = gpu->allocate(8192, {.domain = MemoryDomain::Gtt}).value();
    const Allocation to = gpu->allocate(8192, {.domain = MemoryDomain::Gtt}).value();
    std::ranges::fill(from.host_as<uint32_t>(), 7u);
    const Signal go = gpu->create_signal().value(), done = gpu->create_signal().value();
    ASSERT_TRUE(gpu->sdma().wait(go, 1).copy(from, to).signal(done, 1).submit());
    ASSERT_TRUE(gpu->compute().signal(go, 1).submit());
    ASSERT_TRUE(done.wait(1));
  }
  ASSERT_TRUE(capture->finish());
  const auto report = replay_on(out.str(), machine());
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(report->first);
  EXPECT_GE(report->submissions, 2u);
}

}  // namespace
}  // namespace doppel::capture
