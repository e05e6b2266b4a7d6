// StepRecorder: what each step of a run has touched: packets, kernels, completions, and what the
// host did in its turns. A schedule begins the steps; as a checker it is told what they do.
//
// A kernel is one footprint, which all of its slices have. What its queue does once it has ended
// (its completion signal, the events behind it) belongs to its last slice too: from then on the
// queue does that before anything else.
//
// Not thread-safe: on the thread that steps the simulator, which is the host's.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "emulator/verify/address_book.h"
#include "emulator/verify/checker.h"
#include "emulator/verify/step_log.h"

namespace doppel::verify {

class StepRecorder final : public Checker {
 public:
  StepRecorder();

  StepLog& log() { return log_; }

  void on_queue_created(const emu::QueueRef& queue) override;
  void on_packet(const emu::PacketEvent& event) override;
  void on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                      std::span<const emu::MemoryAccess> accesses) override;
  void on_access_log(const emu::QueueRef& queue, uint64_t tag, const emu::AccessLog* log) override;
  void on_dispatch_step(const emu::QueueRef& queue, uint64_t tag) override;
  void on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                     std::span<const emu::MemoryAccess> accesses) override;
  void on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) override;

  void on_host_access(uint64_t va, uint64_t bytes, MemoryAccess access,
                      std::string_view call) override;
  void on_host_store(uint64_t va, int64_t value, std::string_view call) override;
  void on_host_load(uint64_t va) override;
  void on_host_wait(const HostWait& wait) override;
  void on_host_deadlock(const HostWait& wait) override;

 private:
  struct Running {
    const emu::AccessLog* log = nullptr;
    std::vector<size_t> slices;  // steps
  };
  using DispatchKey = std::pair<const void*, uint64_t>;  // queue, tag

  void add(Footprint& to, const emu::GpuVm& vm, uint64_t va, uint64_t bytes, bool write) const;
  void add(Footprint& to, const emu::GpuVm& vm, const emu::AccessLog& log) const;
  void add(Footprint& to, const emu::QueueRef& queue,
           std::span<const emu::MemoryAccess> accesses) const;
  void host(uint64_t va, uint64_t bytes, bool write);

  AddressBook book_;
  StepLog log_;
  std::map<DispatchKey, Running> running_;
  /// By queue: the last slices of kernels that have ended since its front-end took up a packet.
  std::map<const void*, std::vector<size_t>> ended_;
};

}  // namespace doppel::verify
