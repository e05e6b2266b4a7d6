#include "emulator/verify/lifetime_checker.h"

#include <fmt/format.h>

#include <utility>

#include "emulator/fault.h"
#include "emulator/verify/fault_culprit.h"
#include "emulator/verify/packet_addresses.h"

namespace doppel::verify {
namespace {

constexpr uint64_t kNear = 1 << 20;  // bytes behind a buffer that are taken for an overrun of it
constexpr uint64_t kValueBytes = 8;

Culprit host(std::string action) {
  Culprit culprit;
  culprit.role = "gives back";
  culprit.actor = "host";
  culprit.action = std::move(action);
  return culprit;
}

}  // namespace

void LifetimeChecker::on_queue_created(const emu::QueueRef& queue) {
  book_.add_space(*queue.config.vm);
}

void LifetimeChecker::on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  book_.map(vm, mapping);
}

void LifetimeChecker::on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  const BufferRange range =
      book_.describe(reinterpret_cast<uint64_t>(mapping.host), mapping.size, mapping.va);
  find_users(RuleId::FreedInUse, vm, mapping.va, mapping.size, range, "Allocation::release");
  if (const Buffer* gone = book_.unmap(vm, mapping, 0)) {
    kernels_.erase(kernels_.lower_bound(gone->va), kernels_.lower_bound(gone->va + gone->size));
  }
}

void LifetimeChecker::on_signal_destroyed(uint64_t va) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (!vm) return;
  // Packets name a signal by its value's address, or by that of the whole structure before it.
  constexpr uint64_t kValueOffset = 8;
  const BufferRange range = book_.describe(AddressBook::host_of(*vm, va), kValueBytes, va);
  find_users(RuleId::SignalInUse, *vm, va - kValueOffset, kValueOffset + kValueBytes, range,
             "Signal's destructor");
}

void LifetimeChecker::find_users(RuleId rule, const emu::GpuVm& vm, uint64_t va, uint64_t size,
                                 const BufferRange& range, const std::string& what) {
  simulator_.visit_queued([&](const emu::QueueRef& queue, const packets::Packet& packet,
                              const emu::PacketPlace& place) {
    if (queue.config.vm != &vm) return;
    const bool named = names_address(packet, [&](uint64_t at) { return at - va < size; });
    if (!named) return;
    Finding finding;
    finding.rule = rule;
    finding.culprits = {host(what),
                        describe(deed_of({queue, packet, place, 0}), "names it", va, false)};
    finding.range = range;
    finding.message = fmt::format("{} of {} is submitted, not done, and names {}, which is gone.",
                                  packet.name(), queue.name, range.buffer);
    finding.missing = fmt::format("a wait for {} before that", queue.name);
    log_.add(std::move(finding));
  });
}

void LifetimeChecker::on_fault(const emu::QueueRef& queue, const emu::Fault& fault) {
  if (!is_page_fault(fault)) return;
  Culprit user = culprit_of(queue, fault, fault.is_write ? "writes" : "reads");
  if (fault.wave) {
    const auto name = kernels_.find(fault.wave->program);
    if (name != kernels_.end()) user.kernel->kernel = name->second;
  }
  Finding finding;
  finding.message = fault.message;
  if (const Buffer* gone = book_.find_gone(*fault.address)) {
    finding.rule = RuleId::UseAfterFree;
    finding.range =
        BufferRange{gone->name, *fault.address - gone->va, fault.access_size, *fault.address};
    finding.culprits = {host("Allocation::release"), std::move(user)};
    finding.missing = fmt::format("a wait for {} before {} is given back", queue.name, gone->name);
  } else if (const Buffer* below = book_.find_below(*fault.address, kNear)) {
    finding.rule = RuleId::OutOfBounds;
    finding.range =
        BufferRange{below->name, *fault.address - below->va, fault.access_size, *fault.address};
    finding.culprits = {std::move(user)};
    finding.missing = fmt::format("bytes: {} has {}", below->name, below->size);
  } else {
    finding.rule = RuleId::WildAccess;
    finding.culprits = {std::move(user)};
  }
  log_.add(std::move(finding));
}

void LifetimeChecker::on_buffer_name(uint64_t va, std::string name) {
  book_.set_name(va, std::move(name));
}

void LifetimeChecker::on_kernel_name(uint64_t entry, uint64_t, std::string name) {
  kernels_[entry] = std::move(name);
}

}  // namespace doppel::verify
