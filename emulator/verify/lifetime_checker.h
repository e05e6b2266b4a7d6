// LifetimeChecker: memory and signals that are given back while work still needs them, and accesses
// beyond the memory there is (the lifetime rules). Learns of such an access from the fault that it
// causes, and of one to come from the packets that are queued when memory goes.
//
// Attach it before memory is mapped. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "core/verify/finding.h"
#include "emulator/simulator.h"
#include "emulator/verify/address_book.h"
#include "emulator/verify/checker.h"
#include "emulator/verify/deed.h"

namespace doppel::verify {

class LifetimeChecker final : public Checker {
 public:
  /// Both outlive the checker.
  LifetimeChecker(FindingLog& log, const emu::Simulator& simulator)
      : log_(log), simulator_(simulator) {}

  void on_queue_created(const emu::QueueRef& queue) override;
  void on_fault(const emu::QueueRef& queue, const emu::Fault& fault) override;
  void on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_signal_destroyed(uint64_t va) override;
  void on_buffer_name(uint64_t va, std::string name) override;
  void on_kernel_name(uint64_t entry, uint64_t bytes, std::string name) override;

 private:
  /// Adds a finding for each queued packet of `vm` that names an address in [va, va + size).
  void find_users(RuleId rule, const emu::GpuVm& vm, uint64_t va, uint64_t size,
                  const BufferRange& range, const std::string& what);

  FindingLog& log_;
  const emu::Simulator& simulator_;
  AddressBook book_;
  std::map<uint64_t, std::string> kernels_;  // by entry
};

}  // namespace doppel::verify
