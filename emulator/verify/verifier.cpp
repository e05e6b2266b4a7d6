#include "emulator/verify/verifier.h"

#include "emulator/verify/order_checker.h"
#include "emulator/verify/progress_checker.h"

namespace doppel::verify {

Result<std::unique_ptr<Verifier>> Verifier::attach(emu::Simulator& simulator,
                                                   const Verify& verify) {
  DOPPEL_ASSIGN(Suppressions suppressions, Suppressions::parse(verify.suppressions));
  std::unique_ptr<Verifier> verifier(new Verifier(simulator));
  verifier->log_.suppress(std::move(suppressions));
  auto& checkers = verifier->checkers_;
  if (verify.hazards) checkers.push_back(std::make_unique<OrderChecker>(verifier->log_));
  if (verify.progress) checkers.push_back(std::make_unique<ProgressChecker>(verifier->log_));
  simulator.observe(verifier.get());
  return verifier;
}

Verifier::~Verifier() {
  simulator_.observe(nullptr);
}

void Verifier::on_queue_created(const emu::QueueRef& queue) {
  tell([&](Checker& checker) { checker.on_queue_created(queue); });
}
void Verifier::on_queue_destroyed(const emu::QueueRef& queue) {
  tell([&](Checker& checker) { checker.on_queue_destroyed(queue); });
}
void Verifier::on_submission(const emu::QueueRef& queue, uint64_t end) {
  tell([&](Checker& checker) { checker.on_submission(queue, end); });
}
void Verifier::on_packet(const emu::PacketEvent& event) {
  tell([&](Checker& checker) { checker.on_packet(event); });
}
void Verifier::on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                              std::span<const emu::MemoryAccess> accesses) {
  tell([&](Checker& checker) { checker.on_packet_step(event, progress, accesses); });
}
emu::AccessLog* Verifier::on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                                      const emu::Dispatch& dispatch) {
  // One checker at most wants to know what kernels access.
  emu::AccessLog* log = nullptr;
  tell([&](Checker& checker) {
    if (emu::AccessLog* wanted = checker.on_dispatch(queue, tag, dispatch)) log = wanted;
  });
  return log;
}
void Verifier::on_dispatch_step(const emu::QueueRef& queue, uint64_t tag) {
  tell([&](Checker& checker) { checker.on_dispatch_step(queue, tag); });
}
void Verifier::on_end_of_pipe_queued(const emu::QueueRef& queue, uint64_t tag) {
  tell([&](Checker& checker) { checker.on_end_of_pipe_queued(queue, tag); });
}
void Verifier::on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                             std::span<const emu::MemoryAccess> accesses) {
  tell([&](Checker& checker) { checker.on_completion(queue, kind, tag, accesses); });
}
void Verifier::on_fault(const emu::QueueRef& queue, const emu::Fault& fault) {
  tell([&](Checker& checker) { checker.on_fault(queue, fault); });
}
void Verifier::on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  tell([&](Checker& checker) { checker.on_map(vm, mapping); });
}
void Verifier::on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  tell([&](Checker& checker) { checker.on_unmap(vm, mapping); });
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
