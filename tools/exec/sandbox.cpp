#include "tools/exec/sandbox.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <istream>
#include <memory>

#include <fmt/format.h>

#include "backends/kfd/kfd_device.h"
#include "backends/kfd/placing_kernel.h"
#include "backends/mock/virtual_kernel.h"
#include "core/code_object.h"
#include "emulator/verify/observer.h"

namespace doppel::exec {
namespace {

/// Of the virtual clock: a kernel may run long.
constexpr WaitOptions kPatience{.timeout = std::chrono::hours(24 * 365)};

/// Hands the dispatch's instructions and accesses to everybody who counts or stops.
class Attendant final : public emu::Observer, public emu::WaveProbe, public emu::AccessListener {
 public:
  Attendant(Outcome& outcome, WatchList& watches, Debugger& debugger)
      : outcome_(outcome), watches_(watches), debugger_(debugger) {
    outcome_.accesses.set_listener(this);
  }
  ~Attendant() override { outcome_.accesses.set_listener(nullptr); }

  emu::AccessLog* on_dispatch(const emu::QueueRef&, uint64_t, const emu::Dispatch&) override {
    return &outcome_.accesses;
  }
  emu::WaveProbe* on_probe(const emu::QueueRef&, uint64_t, const emu::Dispatch&) override {
    return this;
  }
  void on_dispatch_end(const emu::QueueRef&, uint64_t,
                       const emu::DispatchCounters& counters) override {
    outcome_.lds_out_of_range = counters.lds_out_of_range;
  }
  void before(const emu::Wave& wave, const isa::Inst& inst) override {
    if (debugger_.active()) debugger_.before(wave, inst);
    outcome_.profile.before(wave, inst);
  }
  void on_lanes(uint64_t pc, uint32_t wave, uint32_t first_lane, const uint64_t* va, uint32_t exec,
                uint32_t size, emu::AccessMode mode) override {
    outcome_.profile.on_lanes(pc, wave, first_lane, va, exec, size, mode);
    watches_.on_lanes(pc, wave, first_lane, va, exec, size, mode);
  }
  void on_range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
                emu::AccessMode mode) override {
    outcome_.profile.on_range(pc, wave, lane, va, size, mode);
    watches_.on_range(pc, wave, lane, va, size, mode);
  }

 private:
  Outcome& outcome_;
  WatchList& watches_;
  Debugger& debugger_;
};

Result<std::string> choose_kernel(const CodeObject& object, const std::string& wanted) {
  if (!wanted.empty()) {
    DOPPEL_ASSIGN(const KernelInfo* info, object.find_kernel(wanted));
    return info->name;
  }
  if (object.kernels().size() == 1) return object.kernels().front().name;
  std::string names;
  for (const KernelInfo& kernel : object.kernels()) {
    names += names.empty() ? kernel.name : fmt::format(", {}", kernel.name);
  }
  return error(StatusCode::InvalidArgument,
               fmt::format("The file has several kernels, or none; name one ({}).", names));
}

struct Bench {
  std::shared_ptr<mock::VirtualKernel> machine;
  std::unique_ptr<kfd::KfdDevice> gpu;
};

Result<Bench> set_up(const std::string& name, emu::Observer& observer) {
  Bench bench;
  DOPPEL_ASSIGN(mock::MachineProfile profile, mock::parse_machine(name));
  DOPPEL_ASSIGN(bench.machine, mock::VirtualKernel::create(std::move(profile)));
  bench.machine->machine().simulator().observe(&observer);
  DOPPEL_ASSIGN(auto process,
                kfd::KfdProcess::open(std::make_shared<kfd::PlacingKernel>(bench.machine)));
  DOPPEL_ASSIGN(bench.gpu, kfd::KfdDevice::open(std::move(process), 0, name));
  return bench;
}

/// Adds a plain value of any of the sizes that arguments have.
void add_value(KernelArgs& args, const ValueSpec& value) {
  const auto add = [&](auto typed) {
    std::memcpy(&typed, value.bytes.data(), sizeof typed);
    args.add(typed);
  };
  switch (value.bytes.size()) {
    case 1:
      return add(uint8_t{});
    case 2:
      return add(uint16_t{});
    case 4:
      return add(uint32_t{});
    default:
      return add(uint64_t{});
  }
}

struct Memory {
  std::vector<Allocation> allocations;  // of buffer arguments, in order
  KernelArgs args;
};

Result<Memory> place_arguments(Device& gpu, const LaunchSpec& spec, Outcome& outcome,
                               BufferNames& names) {
  Memory memory;
  for (size_t i = 0; i < spec.args.size(); ++i) {
    if (const auto* value = std::get_if<ValueSpec>(&spec.args[i])) {
      add_value(memory.args, *value);
    } else if (const auto* local = std::get_if<LocalSpec>(&spec.args[i])) {
      memory.args.add(LocalMemory{local->bytes});
    } else {
      const auto& buffer = std::get<BufferSpec>(spec.args[i]);
      // System memory: the host reads it even when the kernel has stopped the queue.
      DOPPEL_ASSIGN(Allocation allocation,
                    gpu.allocate(buffer.content.size(), {.domain = MemoryDomain::Gtt}));
      std::ranges::copy(buffer.content, allocation.host());
      const std::string name = fmt::format("arg{}", i);
      names.add(name, allocation.gpu_address(), allocation.size());
      outcome.buffers.push_back({name, {}, buffer});
      memory.args.add(allocation);
      memory.allocations.push_back(std::move(allocation));
    }
  }
  return memory;
}

Result<> add_watches(const LaunchSpec& spec, const BufferNames& names, WatchList& watches) {
  for (const std::string& text : spec.watches) {
    DOPPEL_ASSIGN(const uint64_t va, names.parse(text));
    watches.add(va, text);
  }
  return {};
}

void report_watches(const WatchList& watches, const Memory& memory, Outcome& outcome) {
  for (const Watch& watch : watches.watches()) {
    WatchResult result{watch, std::nullopt, {}, 0};
    for (const Allocation& allocation : memory.allocations) {
      const uint64_t offset = watch.va - allocation.gpu_address();
      if (offset < allocation.size()) {
        result.value = std::to_integer<uint8_t>(allocation.host()[offset]);
      }
    }
    if (watch.last) {
      result.pc_offset = watch.last->pc - outcome.entry;
      const auto site = outcome.profile.sites().find(watch.last->pc);
      if (site != outcome.profile.sites().end()) result.instruction = site->second.text;
    }
    outcome.watches.push_back(std::move(result));
  }
}

/// Launches and waits; what the kernel does wrong is the outcome's.
Result<> launch(Device& gpu, const Kernel& kernel, const LaunchSpec& spec, const Memory& memory,
                Outcome& outcome) {
  DOPPEL_ASSIGN(const Signal done, gpu.create_signal());
  DOPPEL_TRY(gpu.compute()
                 .memory_barrier()
                 .exec(kernel, memory.args, spec.grid, spec.workgroup,
                       {.dynamic_group_bytes = spec.dynamic_group_bytes})
                 .signal(done, 1)
                 .submit());
  if (auto waited = done.wait(1, kPatience); !waited) outcome.failure = waited.error();
  return {};
}

}  // namespace

Result<std::unique_ptr<Outcome>> run(std::span<const std::byte> file, const LaunchSpec& spec,
                                     std::istream& commands, std::ostream& output) {
  DOPPEL_ASSIGN(const CodeObject object, CodeObject::parse(file));
  auto outcome = std::make_unique<Outcome>();
  DOPPEL_ASSIGN(outcome->kernel, choose_kernel(object, spec.kernel));
  outcome->target = object.target().name;
  outcome->device =
      spec.machine.empty() ? fmt::format("mock:{}", object.target().name) : spec.machine;
  outcome->grid = spec.grid;
  outcome->workgroup = spec.workgroup;

  BufferNames names;
  WatchList watches;
  Debugger debugger(commands, output, names, watches);
  Attendant attendant(*outcome, watches, debugger);
  DOPPEL_ASSIGN(const Bench bench, set_up(outcome->device, attendant));
  Device& gpu = *bench.gpu;
  DOPPEL_ASSIGN(const Program program, gpu.load_program(file));
  DOPPEL_ASSIGN(const Kernel kernel, program.kernel(outcome->kernel));
  outcome->entry = kernel.entry_address();
  DOPPEL_ASSIGN(const Memory memory, place_arguments(gpu, spec, *outcome, names));
  DOPPEL_TRY(add_watches(spec, names, watches));
  debugger.prepare(spec.debugger);

  DOPPEL_TRY(launch(gpu, kernel, spec, memory, *outcome));
  outcome->debugger_mistakes = debugger.mistakes();
  report_watches(watches, memory, *outcome);
  for (size_t i = 0; i < memory.allocations.size(); ++i) {
    const auto content = memory.allocations[i].host_as<std::byte>();
    outcome->buffers[i].content.assign(content.begin(), content.end());
  }
  return outcome;
}

}  // namespace doppel::exec
