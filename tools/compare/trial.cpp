#include "tools/compare/trial.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "backends/named_machine.h"
#include "tools/selftest/kernels.h"

namespace doppel::compare {
namespace {

constexpr WaitOptions kPatience{.timeout = std::chrono::seconds(10)};
constexpr uint64_t kSignalled = 42;

Trial::Stream describe(const GraphStream& stream, const AllocationWatch& watch) {
  const auto dwords = stream.commands.dwords();
  Trial::Stream described{.queue = std::string(to_string(stream.queue)),
                          .language = stream.commands.language(),
                          .family = stream.commands.family(),
                          .dwords = watch.canonical_stream({dwords.begin(), dwords.end()}),
                          .names = {}};
  for (size_t i = 0; i + 1 < described.dwords.size(); ++i) {
    const uint64_t value = described.dwords[i] | uint64_t{described.dwords[i + 1]} << 32;
    for (const uint64_t address : {value, value << 8}) {
      if (std::string name = watch.name_of(address); !name.empty()) {
        described.names.emplace_back(address, std::move(name));
      }
    }
  }
  return described;
}

}  // namespace

std::string Trial::name_in(const Stream& stream, uint64_t address) {
  for (const auto& [known, name] : stream.names) {
    if (known == address) return name;
  }
  return {};
}

Result<TrialMachine> TrialMachine::open(std::string_view name, uint32_t gpu) {
  TrialMachine machine;
  machine.name_ = name;
  DOPPEL_ASSIGN(auto kernel, open_named_kernel(name));
  machine.watch_ = std::make_shared<AllocationWatch>(std::move(kernel));
  DOPPEL_ASSIGN(auto process, kfd::KfdProcess::open(machine.watch_));
  DOPPEL_ASSIGN(machine.gpu_, kfd::KfdDevice::open(std::move(process), gpu, machine.name_));
  return machine;
}

Result<> TrialMachine::run_graph(Prepared& prepared, GraphExecutor executor, Trial& trial) {
  Device& gpu = *gpu_;
  DOPPEL_ASSIGN(const Signal done, gpu.create_signal());
  DOPPEL_ASSIGN(GraphExec exec,
                prepared.graph.instantiate(gpu, {.executor = executor, .profile = true}));
  DOPPEL_TRY(exec.launch().wait(kPatience));
  DOPPEL_TRY(exec.set_scalar(prepared.variable, 2, uint32_t{11}));
  DOPPEL_TRY(exec.launch({.signal = &done, .signal_value = kSignalled}).wait(kPatience));
  DOPPEL_TRY(done.wait(kSignalled, kPatience));
  trial.signals.push_back({"done", done.value()});
  for (const GraphStream& stream : exec.commands()) {
    trial.streams.push_back(describe(stream, *watch_));
  }
  DOPPEL_ASSIGN(const auto profile, exec.profile());
  double origin = profile.empty() ? 0 : profile.front().start_ns;
  for (const GraphNodeProfile& node : profile) origin = std::min(origin, node.start_ns);
  for (const GraphNodeProfile& node : profile) {
    trial.nodes.push_back({node.name, node.start_ns - origin, node.end_ns - node.start_ns});
  }
  return {};
}

Result<Trial> TrialMachine::run(const Workload& workload, GraphExecutor executor) {
  Device& gpu = *gpu_;
  Trial trial;
  trial.machine = name_;
  trial.gpu =
      fmt::format("{}, {}, {}", gpu.target().name, gpu.info().marketing_name, gpu.info().driver);
  trial.target = &gpu.target();
  DOPPEL_ASSIGN(const Program program, gpu.load_program(selftest::code_object_for(gpu.target())));
  watch_->set_name(program.image().gpu_address(), "program");
  DOPPEL_ASSIGN(Prepared prepared, workload.prepare(gpu, program));
  for (const Prepared::Buffer& buffer : prepared.buffers) {
    watch_->set_name(buffer.memory.gpu_address(), buffer.name);
  }
  DOPPEL_TRY(run_graph(prepared, executor, trial));
  for (const Prepared::Buffer& buffer : prepared.buffers) {
    DOPPEL_ASSIGN(auto content, gpu.read<std::byte>(buffer.memory));
    trial.buffers.push_back({buffer.name, std::move(content)});
  }
  return trial;
}

}  // namespace doppel::compare
