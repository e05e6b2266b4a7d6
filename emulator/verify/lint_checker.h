// LintChecker: packets and dispatches that hardware ignores, refuses or misreads (the lint rules):
// the problems of each packet as it is reached, and every fault that is no page fault.
//
// Not thread-safe.
#pragma once

#include "core/verify/finding.h"
#include "emulator/verify/checker.h"

namespace doppel::verify {

class LintChecker final : public Checker {
 public:
  /// `log` outlives the checker.
  explicit LintChecker(FindingLog& log) : log_(log) {}

  void on_packet(const emu::PacketEvent& event) override;
  void on_fault(const emu::QueueRef& queue, const emu::Fault& fault) override;

 private:
  void check_registers(const emu::PacketEvent& event);
  void add(RuleId rule, const emu::PacketEvent& event, std::string message);

  FindingLog& log_;
};

}  // namespace doppel::verify
