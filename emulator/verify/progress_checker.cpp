#include "emulator/verify/progress_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/cp/foreseen_writes.h"

namespace doppel::verify {
namespace {

using emu::BlockCause;
using emu::Compare;
using emu::Stall;

Culprit culprit_of(const Stall& stall, std::string role) {
  Culprit culprit;
  culprit.role = std::move(role);
  culprit.actor = stall.queue;
  culprit.action = stall.wait.packet;
  culprit.place = stall.wait.place;
  culprit.packet_offset = stall.wait.packet_offset;
  return culprit;
}

Culprit culprit_of(const emu::Producer& producer) {
  Culprit culprit;
  culprit.role = "would signal";
  culprit.actor = producer.queue;
  culprit.action = producer.packet;
  return culprit;
}

std::string describe(const WordCondition& condition) {
  if (condition.is_signed) {
    return fmt::format("{} {}", emu::to_string(condition.compare),
                       static_cast<int64_t>(condition.reference));
  }
  return fmt::format("{} {}", emu::to_string(condition.compare), condition.reference);
}

/// What the condition compares, in its own signedness, as a number that orders.
int64_t part_of(const WordCondition& condition, uint64_t word) {
  if (condition.is_64) return static_cast<int64_t>(word & condition.mask);
  const uint64_t half = condition.address % 8 == 4 ? word >> 32 : word;
  return static_cast<int64_t>(static_cast<uint32_t>(half) & condition.mask);
}

bool wants_more(Compare compare) {
  return compare == Compare::Greater || compare == Compare::GreaterEqual;
}
bool wants_less(Compare compare) {
  return compare == Compare::Less || compare == Compare::LessEqual;
}

}  // namespace

void ProgressChecker::on_queue_created(const emu::QueueRef& queue) {
  book_.add_space(*queue.config.vm);
  queues_[queue.config.id] = {.vm = queue.config.vm, .deed = nullptr, .pending = {}};
}

void ProgressChecker::on_queue_destroyed(const emu::QueueRef& queue) {
  queues_.erase(queue.config.id);
}

void ProgressChecker::on_packet(const emu::PacketEvent& event) {
  queues_[event.queue.config.id].deed = std::make_shared<Deed>(deed_of(event));
  watch(event);
}

void ProgressChecker::watch(const emu::PacketEvent& event) {
  for (const emu::PendingWrite& write : emu::foreseen_writes(event.packet)) {
    if (write.size > kSignalBytes) continue;
    const uint64_t host = AddressBook::host_of(*event.queue.config.vm, write.address);
    if (host != 0) words_.watch(host, word_at(host), {});
  }
}

void ProgressChecker::on_packet_step(const emu::PacketEvent& event, emu::PacketProgress,
                                     std::span<const emu::MemoryAccess> accesses) {
  const QueueState& queue = queues_[event.queue.config.id];
  note(*event.queue.config.vm, queue.deed, accesses);
}

emu::AccessLog* ProgressChecker::on_dispatch(const emu::QueueRef& ref, uint64_t tag,
                                             const emu::Dispatch&) {
  QueueState& queue = queues_[ref.config.id];
  queue.pending[tag] = queue.deed;
  return nullptr;
}

void ProgressChecker::on_end_of_pipe_queued(const emu::QueueRef& ref, uint64_t tag) {
  QueueState& queue = queues_[ref.config.id];
  queue.pending[tag] = queue.deed;
}

void ProgressChecker::on_completion(const emu::QueueRef& ref, emu::CompletionKind, uint64_t tag,
                                    std::span<const emu::MemoryAccess> accesses) {
  auto node = queues_[ref.config.id].pending.extract(tag);
  if (!node.empty()) note(*ref.config.vm, node.mapped(), accesses);
}

void ProgressChecker::note(const emu::GpuVm& vm, const DeedRef& deed,
                           std::span<const emu::MemoryAccess> accesses) {
  for (const emu::MemoryAccess& access : accesses) {
    const bool stores =
        access.mode == emu::AccessMode::Write || access.mode == emu::AccessMode::Atomic;
    if (!stores || access.size > kSignalBytes) continue;
    if (const uint64_t host = AddressBook::host_of(vm, access.va)) {
      words_.write(host, access.size, word_at(host), {}, deed, false);
    }
  }
}

void ProgressChecker::on_host_store(uint64_t va, int64_t value, std::string_view call) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (!vm) return;
  auto deed = std::make_shared<Deed>();
  deed->actor = "host";
  deed->call = call;
  words_.write(AddressBook::host_of(*vm, va), sizeof(value), static_cast<uint64_t>(value), {},
               std::move(deed), false);
}

void ProgressChecker::on_signal_created(uint64_t va, int64_t value) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (!vm) return;
  const uint64_t host = AddressBook::host_of(*vm, va);
  words_.forget(host, host + sizeof(value));
  words_.watch(host, static_cast<uint64_t>(value), {});
}

void ProgressChecker::on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  book_.map(vm, mapping);
}

void ProgressChecker::on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  if (const Buffer* gone = book_.unmap(vm, mapping, 0)) {
    words_.forget(gone->host, gone->host + gone->size);
  }
}

void ProgressChecker::on_buffer_name(uint64_t va, std::string name) {
  book_.set_name(va, std::move(name));
}

std::vector<ProgressChecker::Awaited> ProgressChecker::awaited(const Stall& stall) const {
  std::vector<Awaited> waits;
  for (const emu::MemoryWait& wait : stall.wait.words) {
    const uint64_t host = AddressBook::host_of(*stall.wait.vm, wait.va);
    if (host == 0) continue;
    waits.push_back({{host, wait.reference, wait.mask, wait.compare, wait.is_64, wait.is_signed},
                     wait.va,
                     wait.is_64 ? uint64_t{8} : uint64_t{4}});
  }
  return waits;
}

void ProgressChecker::on_stall(std::span<const Stall> stalls, const HostWait* host) {
  for (const std::vector<size_t>& circle : emu::find_circles(stalls)) {
    explain_circle(stalls, circle);
  }
  for (const Stall& stall : stalls) {
    switch (stall.wait.cause) {
      case BlockCause::Memory:
      case BlockCause::Register:
        if (!stall.producers.empty()) break;  // it is explained where the producer waits
        explain_orphan(culprit_of(stall, "waits"), awaited(stall), stall.wait.reason);
        break;
      case BlockCause::Unpublished:
      case BlockCause::Incomplete:
        explain_unready(stall);
        break;
      case BlockCause::Pipe:
      case BlockCause::Paused:
        break;  // for other work of the queue, or for the driver
    }
  }
  // Somebody else's wait is why the host's does not end.
  if (host == nullptr || !stalls.empty()) return;
  const emu::GpuVm* vm = book_.space_of(host->address);
  if (!vm) return;
  Culprit waiter;
  waiter.role = "waits";
  waiter.actor = "host";
  waiter.action = "Signal::wait";
  const uint64_t word = AddressBook::host_of(*vm, host->address);
  explain_orphan(std::move(waiter), {{condition_of(*host, word), host->address, 8}},
                 "Signal::wait");
}

void ProgressChecker::explain_circle(std::span<const Stall> stalls,
                                     std::span<const size_t> circle) {
  Finding finding;
  finding.rule = circle.size() == 1 ? RuleId::ProducerBehindConsumer : RuleId::Deadlock;
  for (size_t index : circle) {
    const Stall& stall = stalls[index];
    const emu::Producer& producer = stall.producers.front();
    finding.culprits.push_back(culprit_of(stall, "waits"));
    fmt::format_to(std::back_inserter(finding.message), "{}{} waits for {} of {}",
                   finding.message.empty() ? "" : ", ", stall.queue, producer.packet,
                   producer.queue);
    if (circle.size() == 1) finding.culprits.push_back(culprit_of(producer));
  }
  finding.message += circle.size() == 1 ? ", which is behind the wait." : ": a circle.";
  log_.add(std::move(finding));
}

void ProgressChecker::explain_unready(const Stall& stall) {
  Finding finding;
  finding.rule = RuleId::UnpublishedPacket;
  finding.culprits = {culprit_of(stall, "stops here")};
  finding.message = fmt::format("{} stops: {}.", stall.queue, stall.wait.reason);
  finding.missing = stall.wait.cause == BlockCause::Unpublished
                        ? "the store of the packet's header, after its body"
                        : "the rest of the packet, and a doorbell that covers it";
  log_.add(std::move(finding));
}

void ProgressChecker::explain_orphan(Culprit waiter, const std::vector<Awaited>& waits,
                                     std::string_view reason) {
  for (const Awaited& wait : waits) {
    if (explain_lost(waiter, wait) || explain_direction(waiter, wait)) return;
  }
  Finding finding;
  finding.rule = RuleId::NeverSignalled;
  if (waits.empty()) {
    finding.message = fmt::format("{}: {}, and nothing can end that.", waiter.actor, reason);
  } else {
    const Awaited& wait = waits.front();
    const auto value = part_of(wait.condition, word_at(wait.condition.address));
    finding.range = book_.describe(wait.condition.address, wait.bytes, wait.va);
    finding.message =
        fmt::format("{} waits for {} {}, which holds {}; nothing is queued that would store it.",
                    waiter.actor, finding.range->buffer, describe(wait.condition), value);
    finding.missing =
        fmt::format("a store of a value {} to {}+0x{:x}; {}", describe(wait.condition),
                    finding.range->buffer, finding.range->offset, who_stored(wait));
  }
  finding.culprits = {std::move(waiter)};
  log_.add(std::move(finding));
}

/// Who has stored to the word so far: they could have signalled.
std::string ProgressChecker::who_stored(const Awaited& wait) const {
  const SyncWords::Word* word = words_.find(wait.condition.address);
  std::vector<std::string> names;
  if (word) {
    for (const SyncWrite& write : word->writes) {
      if (!write.deed) continue;
      std::string name =
          fmt::format("{} (to {})", verify::describe(*write.deed, "", 0, true).to_string(),
                      part_of(wait.condition, write.value));
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  if (names.empty()) return "nobody has ever stored to it";
  constexpr size_t kShown = 3;
  std::string text = "it has been stored by ";
  const size_t first = names.size() > kShown ? names.size() - kShown : 0;
  for (size_t i = first; i < names.size(); ++i) {
    text += (i == first ? "" : "; ") + names[i];
  }
  return text;
}

bool ProgressChecker::explain_lost(const Culprit& waiter, const Awaited& wait) {
  const SyncWords::Word* word = words_.find(wait.condition.address);
  if (!word) return false;
  const auto& writes = word->writes;
  const auto held = std::find_if(writes.rbegin(), writes.rend(), [&](const SyncWrite& write) {
    return wait.condition.holds(write.value);
  });
  if (held == writes.rend() || held == writes.rbegin()) return false;
  const SyncWrite& lost = *std::prev(held);
  if (!held->deed || !lost.deed) return false;
  Finding finding;
  finding.rule = RuleId::LostSignal;
  finding.culprits = {verify::describe(*held->deed, "signals", 0, true),
                      verify::describe(*lost.deed, "overwrites", 0, true), waiter};
  finding.range = book_.describe(wait.condition.address, wait.bytes, wait.va);
  finding.message = fmt::format(
      "{} waits for {} {}: {} stored {}, then {} stored {} before the wait looked.", waiter.actor,
      finding.range->buffer, describe(wait.condition), held->deed->actor,
      part_of(wait.condition, held->value), lost.deed->actor, part_of(wait.condition, lost.value));
  finding.missing =
      fmt::format("a wait, before the second store, for {} to have passed its wait", waiter.actor);
  log_.add(std::move(finding));
  return true;
}

bool ProgressChecker::explain_direction(const Culprit& waiter, const Awaited& wait) {
  const SyncWords::Word* word = words_.find(wait.condition.address);
  const bool more = wants_more(wait.condition.compare), less = wants_less(wait.condition.compare);
  if (!word || !word->known || word->writes.empty() || !(more || less)) return false;
  int64_t value = part_of(wait.condition, word->earlier_value);
  const int64_t initial = value;
  for (const SyncWrite& write : word->writes) {
    const int64_t next = part_of(wait.condition, write.value);
    if (more ? next > value : next < value) return false;  // it has gone the right way once
    value = next;
  }
  if (value == initial || !word->writes.back().deed) return false;
  Finding finding;
  finding.rule = RuleId::WrongDirectionWait;
  finding.culprits = {verify::describe(*word->writes.back().deed, "signals", 0, true), waiter};
  finding.range = book_.describe(wait.condition.address, wait.bytes, wait.va);
  finding.message =
      fmt::format("{} waits for {} {}, but its stores have taken it from {} to {}.", waiter.actor,
                  finding.range->buffer, describe(wait.condition), initial, value);
  finding.missing = fmt::format("a comparison that {} satisfies", value);
  log_.add(std::move(finding));
  return true;
}

}  // namespace doppel::verify
