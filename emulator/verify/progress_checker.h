// ProgressChecker: explains a machine in which nothing runs any more although somebody waits (the
// progress rules). Remembers who has stored to the words that are used as signals, so that a wait
// without an end is traced to who has not ended it.
//
// Stores of kernels are unseen, and those of the host that no call makes. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/verify/finding.h"
#include "emulator/verify/address_book.h"
#include "emulator/verify/checker.h"
#include "emulator/verify/deed.h"
#include "emulator/verify/sync_words.h"

namespace doppel::verify {

class ProgressChecker final : public Checker {
 public:
  /// `log` outlives the checker.
  explicit ProgressChecker(FindingLog& log) : log_(log) {}

  void on_queue_created(const emu::QueueRef& queue) override;
  void on_queue_destroyed(const emu::QueueRef& queue) override;
  void on_packet(const emu::PacketEvent& event) override;
  void on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                      std::span<const emu::MemoryAccess> accesses) override;
  emu::AccessLog* on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                              const emu::Dispatch& dispatch) override;
  void on_end_of_pipe_queued(const emu::QueueRef& queue, uint64_t tag) override;
  void on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                     std::span<const emu::MemoryAccess> accesses) override;
  void on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_host_store(uint64_t va, int64_t value, std::string_view call) override;
  void on_signal_created(uint64_t va, int64_t value) override;
  void on_buffer_name(uint64_t va, std::string name) override;
  void on_stall(std::span<const emu::Stall> stalls, const HostWait* host) override;

 private:
  struct QueueState {
    const emu::GpuVm* vm = nullptr;
    DeedRef deed;                         // of the current packet
    std::map<uint64_t, DeedRef> pending;  // that act later, by tag
  };
  /// A condition that somebody waits for.
  struct Awaited {
    WordCondition condition;
    uint64_t va = 0;
    uint64_t bytes = 4;
  };

  /// Remembers what the words that the packet stores to hold before.
  void watch(const emu::PacketEvent& event);
  void note(const emu::GpuVm& vm, const DeedRef& deed, std::span<const emu::MemoryAccess> accesses);
  /// The waits of `stall`, or nothing for words that are not mapped.
  std::vector<Awaited> awaited(const emu::Stall& stall) const;

  void explain_circle(std::span<const emu::Stall> stalls, std::span<const size_t> circle);
  void explain_unready(const emu::Stall& stall);
  /// A wait without a producer among the queued packets.
  void explain_orphan(Culprit waiter, const std::vector<Awaited>& waits, std::string_view reason);
  bool explain_lost(const Culprit& waiter, const Awaited& wait);
  bool explain_direction(const Culprit& waiter, const Awaited& wait);
  std::string who_stored(const Awaited& wait) const;

  FindingLog& log_;
  AddressBook book_;
  SyncWords words_;
  std::map<uint32_t, QueueState> queues_;  // by the driver's id
};

}  // namespace doppel::verify
