#include "emulator/verify/verifier.h"

#include "emulator/schedule.h"
#include "emulator/verify/lifetime_checker.h"
#include "emulator/verify/lint_checker.h"
#include "emulator/verify/order_checker.h"
#include "emulator/verify/progress_checker.h"

namespace doppel::verify {

Result<std::unique_ptr<Verifier>> Verifier::attach(emu::Simulator& simulator,
                                                   const Verify& verify) {
  DOPPEL_ASSIGN(Suppressions suppressions, Suppressions::parse(verify.suppressions));
  std::unique_ptr<Verifier> verifier(new Verifier(simulator, verify.unseen_host));
  verifier->log_.suppress(std::move(suppressions));
  auto& checkers = verifier->owned_;
  if (verify.hazards || verify.coherence || verify.lifetime) {
    checkers.push_back(std::make_unique<OrderChecker>(verifier->log_, verify));
  }
  if (verify.progress) checkers.push_back(std::make_unique<ProgressChecker>(verifier->log_));
  if (verify.lifetime) {
    checkers.push_back(std::make_unique<LifetimeChecker>(verifier->log_, simulator));
  }
  if (verify.lint) checkers.push_back(std::make_unique<LintChecker>(verifier->log_));
  // Before those that drop what they know when a dispatch completes.
  emu::Schedule* schedule = simulator.options().schedule;
  if (Checker* watcher = schedule ? schedule->checker() : nullptr) {
    verifier->checkers_.push_back(watcher);
  }
  for (auto& checker : checkers) verifier->checkers_.push_back(checker.get());
  simulator.observe(verifier.get());
  return verifier;
}

Verifier::~Verifier() {
  simulator_.observe(nullptr);
}

void Verifier::on_queue_created(const emu::QueueRef& queue) {
  show([&](emu::Observer& observer) { observer.on_queue_created(queue); });
}
void Verifier::on_queue_destroyed(const emu::QueueRef& queue) {
  show([&](emu::Observer& observer) { observer.on_queue_destroyed(queue); });
}
void Verifier::on_submission(const emu::QueueRef& queue, uint64_t end) {
  show([&](emu::Observer& observer) { observer.on_submission(queue, end); });
}
void Verifier::on_packet(const emu::PacketEvent& event) {
  look_at_rings();
  show([&](emu::Observer& observer) { observer.on_packet(event); });
}
void Verifier::on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                              std::span<const emu::MemoryAccess> accesses) {
  show([&](emu::Observer& observer) { observer.on_packet_step(event, progress, accesses); });
}
void Verifier::name_kernel(const emu::Dispatch& dispatch) {
  if (namer_ == nullptr || !named_.insert(dispatch.program).second) return;
  const std::string name = namer_(*dispatch.vm, dispatch.program);
  if (!name.empty()) on_kernel_name(dispatch.program, 0, name);
}
emu::AccessLog* Verifier::on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                                      const emu::Dispatch& dispatch) {
  // One of them at most wants to know what kernels access.
  name_kernel(dispatch);
  emu::AccessLog* log = nullptr;
  show([&](emu::Observer& observer) {
    if (emu::AccessLog* wanted = observer.on_dispatch(queue, tag, dispatch)) log = wanted;
  });
  tell([&](Checker& checker) { checker.on_access_log(queue, tag, log); });
  return log;
}
void Verifier::on_dispatch_step(const emu::QueueRef& queue, uint64_t tag) {
  look_at_rings();
  show([&](emu::Observer& observer) { observer.on_dispatch_step(queue, tag); });
}
void Verifier::on_dispatch_end(const emu::QueueRef& queue, uint64_t tag,
                               const emu::DispatchCounters& counters) {
  show([&](emu::Observer& observer) { observer.on_dispatch_end(queue, tag, counters); });
}
void Verifier::on_end_of_pipe_queued(const emu::QueueRef& queue, uint64_t tag) {
  look_at_rings();
  show([&](emu::Observer& observer) { observer.on_end_of_pipe_queued(queue, tag); });
}
void Verifier::on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                             std::span<const emu::MemoryAccess> accesses) {
  show([&](emu::Observer& observer) { observer.on_completion(queue, kind, tag, accesses); });
}
void Verifier::on_fault(const emu::QueueRef& queue, const emu::Fault& fault) {
  show([&](emu::Observer& observer) { observer.on_fault(queue, fault); });
}
void Verifier::on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  show([&](emu::Observer& observer) { observer.on_map(vm, mapping); });
}
void Verifier::on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  named_.erase(named_.lower_bound(mapping.va), named_.lower_bound(mapping.va + mapping.size));
  show([&](emu::Observer& observer) { observer.on_unmap(vm, mapping); });
}

void Verifier::on_host_access(uint64_t va, uint64_t bytes, MemoryAccess access,
                              std::string_view call) {
  simulator_.notice_submissions();
  tell([&](Checker& checker) { checker.on_host_access(va, bytes, access, call); });
}
void Verifier::on_host_store(uint64_t va, int64_t value, std::string_view call) {
  simulator_.notice_submissions();
  tell([&](Checker& checker) { checker.on_host_store(va, value, call); });
}
void Verifier::on_signal_created(uint64_t va, int64_t value) {
  simulator_.notice_submissions();
  tell([&](Checker& checker) { checker.on_signal_created(va, value); });
}
void Verifier::on_signal_destroyed(uint64_t va) {
  simulator_.notice_submissions();
  tell([&](Checker& checker) { checker.on_signal_destroyed(va); });
}
void Verifier::on_host_load(uint64_t va) {
  simulator_.notice_submissions();
  tell([&](Checker& checker) { checker.on_host_load(va); });
}
void Verifier::on_host_wait(const HostWait& wait) {
  simulator_.notice_submissions();
  tell([&](Checker& checker) { checker.on_host_wait(wait); });
}
void Verifier::note_stalls() {
  const std::vector<emu::Stall> stalls = simulator_.stalls();
  if (!stalls.empty()) tell([&](Checker& checker) { checker.on_stall(stalls, nullptr); });
}
void Verifier::on_host_deadlock(const HostWait& wait) {
  const std::vector<emu::Stall> stalls = simulator_.stalls();
  tell([&](Checker& checker) { checker.on_stall(stalls, &wait); });
}
void Verifier::on_buffer_name(uint64_t va, std::string name) {
  tell([&](Checker& checker) { checker.on_buffer_name(va, name); });
}
void Verifier::on_kernel_name(uint64_t entry, uint64_t bytes, std::string name) {
  tell([&](Checker& checker) { checker.on_kernel_name(entry, bytes, name); });
}

}  // namespace doppel::verify
