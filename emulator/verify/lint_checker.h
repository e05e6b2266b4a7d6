// LintChecker: packets and dispatches that hardware ignores, refuses or misreads (the lint rules):
// the problems of each packet as it is reached, and every fault that is no page fault.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/verify/finding.h"
#include "emulator/verify/checker.h"
#include "emulator/verify/deed.h"

namespace doppel::verify {

class LintChecker final : public Checker {
 public:
  /// `log` outlives the checker.
  explicit LintChecker(FindingLog& log) : log_(log) {}

  void on_packet(const emu::PacketEvent& event) override;
  emu::AccessLog* on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                              const emu::Dispatch& dispatch) override;
  void on_dispatch_end(const emu::QueueRef& queue, uint64_t tag,
                       const emu::DispatchCounters& counters) override;
  void on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                     std::span<const emu::MemoryAccess> accesses) override;
  void on_queue_destroyed(const emu::QueueRef& queue) override;
  void on_fault(const emu::QueueRef& queue, const emu::Fault& fault) override;
  void on_kernel_name(uint64_t entry, uint64_t bytes, std::string name) override;

 private:
  struct QueueState {
    Deed packet;                    // the current one
    std::map<uint64_t, Deed> runs;  // dispatches, by tag
  };
  void check_registers(const emu::PacketEvent& event);
  void add(RuleId rule, const emu::PacketEvent& event, std::string message);

  FindingLog& log_;
  std::map<uint32_t, QueueState> queues_;    // by the driver's id
  std::map<uint64_t, std::string> kernels_;  // by entry
};

}  // namespace doppel::verify
