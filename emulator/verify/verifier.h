// Verifier: the checkers that a Verify asks for, on one simulator, and what they have found.
//
// Attach it before queues are created; it takes note of submissions before it passes on what the
// host does. Not thread-safe: one call at a time, whoever steps the simulator.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "core/status.h"
#include "core/verify/finding.h"
#include "core/verify/verify.h"
#include "emulator/simulator.h"
#include "emulator/verify/checker.h"

namespace doppel::verify {

class Verifier final : public emu::Observer, public HostObserver {
 public:
  /// Begins to observe `simulator`, which outlives the verifier. InvalidArgument for suppressions
  /// that don't parse.
  static Result<std::unique_ptr<Verifier>> attach(emu::Simulator& simulator, const Verify& verify);
  ~Verifier() override;

  const FindingLog& findings() const { return log_; }
  /// Who knows the kernel at an address, "" if nobody: for programs that tell no names.
  using Namer = std::string (*)(const emu::GpuVm& vm, uint64_t entry);
  void name_kernels_by(Namer namer) { namer_ = namer; }
  /// Looks for stalls: whoever waits now is not going to be released by the host any more.
  void note_stalls();
  /// `next`, which outlives the verifier and logs no accesses, is shown everything too.
  void pass_on_to(emu::Observer& next) { next_ = &next; }

  void on_queue_created(const emu::QueueRef& queue) override;
  void on_queue_destroyed(const emu::QueueRef& queue) override;
  void on_submission(const emu::QueueRef& queue, uint64_t end) override;
  void on_packet(const emu::PacketEvent& event) override;
  void on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                      std::span<const emu::MemoryAccess> accesses) override;
  emu::AccessLog* on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                              const emu::Dispatch& dispatch) override;
  void on_dispatch_step(const emu::QueueRef& queue, uint64_t tag) override;
  void on_dispatch_end(const emu::QueueRef& queue, uint64_t tag,
                       const emu::DispatchCounters& counters) override;
  void on_end_of_pipe_queued(const emu::QueueRef& queue, uint64_t tag) override;
  void on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                     std::span<const emu::MemoryAccess> accesses) override;
  void on_fault(const emu::QueueRef& queue, const emu::Fault& fault) override;
  void on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) override;

  void on_host_access(uint64_t va, uint64_t bytes, MemoryAccess access,
                      std::string_view call) override;
  void on_host_store(uint64_t va, int64_t value, std::string_view call) override;
  void on_signal_created(uint64_t va, int64_t value) override;
  void on_signal_destroyed(uint64_t va) override;
  void on_host_load(uint64_t va) override;
  void on_host_wait(const HostWait& wait) override;
  void on_host_deadlock(const HostWait& wait) override;
  void on_buffer_name(uint64_t va, std::string name) override;
  void on_kernel_name(uint64_t entry, uint64_t bytes, std::string name) override;

 private:
  Verifier(emu::Simulator& simulator, bool unseen_host)
      : simulator_(simulator), unseen_host_(unseen_host) {}

  /// What an unseen host has submitted by now was submitted without having seen what comes next.
  void look_at_rings() {
    if (unseen_host_) simulator_.notice_submissions();
  }

  template <class Tell>
  void tell(Tell&& to) {
    for (Checker* checker : checkers_) to(*checker);
  }

  /// As tell(), and the next observer.
  template <class Show>
  void show(Show&& to) {
    tell(to);
    if (next_ != nullptr) to(*next_);
  }

  emu::Simulator& simulator_;
  bool unseen_host_;
  void name_kernel(const emu::Dispatch& dispatch);

  emu::Observer* next_ = nullptr;
  Namer namer_ = nullptr;
  std::set<uint64_t> named_;  // entries
  FindingLog log_;
  std::vector<std::unique_ptr<Checker>> owned_;
  std::vector<Checker*> checkers_;  // in the order in which they are told
};

}  // namespace doppel::verify
