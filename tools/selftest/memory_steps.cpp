// Memory of each domain, and driver events.
#include <cstring>

#include <fmt/format.h>

#include "backends/kfd/kfd_abi.h"
#include "tools/selftest/bench.h"

namespace doppel::selftest {
namespace {

constexpr uint64_t kProbeBytes = uint64_t{1} << 20;

/// Writes and reads back through the CPU's mapping.
Result<> check_cpu_view(const Allocation& memory) {
  const auto words = memory.host_as<uint32_t>();
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i * 0x9e3779b9u);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == static_cast<uint32_t>(i * 0x9e3779b9u)) continue;
    return wrong(fmt::format("The memory does not keep what the CPU writes (dword {}: {:#x}).", i,
                             words[i]));
  }
  return {};
}

Result<Done> try_memory(Bench& bench, const AllocationOptions& options) {
  DOPPEL_ASSIGN(Allocation memory, bench.memory->allocate(kProbeBytes, options));
  if (memory.host() != nullptr) DOPPEL_TRY(check_cpu_view(memory));
  const std::string detail =
      fmt::format("{} KiB at {:#x}", kProbeBytes >> 10, memory.gpu_address());
  DOPPEL_TRY(memory.release());
  return Done{detail};
}

Result<Done> try_visible_vram(Bench& bench) {
  if (bench.node->visible_vram_bytes() == 0) {
    return not_applicable("the CPU sees no VRAM: resizable BAR is off, or the card has none");
  }
  return try_memory(bench, {.domain = MemoryDomain::Vram, .cpu_visible = true});
}

Result<Done> make_events(Bench& bench) {
  DOPPEL_TRY(bench.process->memory_of(*bench.node));
  DOPPEL_ASSIGN(const kfd::SignalEvent event, bench.process->events().signal_event());
  return Done{fmt::format("event {}", event.id)};
}

Result<Done> wait_for_event(Bench& bench) {
  DOPPEL_ASSIGN(const kfd::SignalEvent event, bench.process->events().signal_event());
  kfd_ioctl_set_event_args set{};
  set.event_id = event.id;
  DOPPEL_TRY(bench.process->driver().call(AMDKFD_IOC_SET_EVENT, set, "set an event"));
  DOPPEL_ASSIGN(const bool fired, bench.process->events().wait(event.id, 1000));
  if (!fired) return wrong(fmt::format("An event that was set does not fire (id {}).", event.id));
  return Done{};
}

}  // namespace

void add_memory_steps(std::vector<Step>& steps) {
  steps.push_back({"vram", "allocate and map VRAM", {"acquire-vm"}, [](Bench& bench) {
                     return try_memory(bench, {.domain = MemoryDomain::Vram});
                   }});
  steps.push_back({"vram-cpu", "reach VRAM from the CPU", {"vram"}, try_visible_vram});
  steps.push_back({"gtt", "allocate and map system memory (GTT)", {"acquire-vm"}, [](Bench& bench) {
                     return try_memory(bench, {.domain = MemoryDomain::Gtt});
                   }});
  steps.push_back({"userptr", "pin the process's own memory", {"acquire-vm"}, [](Bench& bench) {
                     return try_memory(bench, {.domain = MemoryDomain::Host});
                   }});
  steps.push_back({"events", "make events and signals", {"gtt"}, make_events});
  steps.push_back({"event-wait", "set an event and wait for it", {"events"}, wait_for_event});
}

}  // namespace doppel::selftest
