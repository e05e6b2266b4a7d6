#include "emulator/verify/lint_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/packets/lint.h"
#include "core/packets/pm4.h"
#include "core/packets/registers.h"
#include "core/packets/validate.h"
#include "emulator/fault.h"
#include "emulator/verify/deed.h"
#include "emulator/verify/fault_culprit.h"

namespace doppel::verify {
namespace {

RuleId rule_of(packets::ProblemKind kind) {
  switch (kind) {
    case packets::ProblemKind::ReservedBits:
    case packets::ProblemKind::UnknownValue:
      return RuleId::ReservedBits;
    case packets::ProblemKind::Misaligned:
    case packets::ProblemKind::Lint:
      return RuleId::SuspiciousPacket;
    default:
      return RuleId::BrokenPacket;
  }
}

/// Which other generation has a register at the offset, as a hint; "" if none has.
std::string other_use(uint32_t address, GfxFamily family) {
  for (const GfxFamily other :
       {GfxFamily::Gfx9_4, GfxFamily::Gfx10_3, GfxFamily::Gfx11, GfxFamily::Gfx12}) {
    if (other == family) continue;
    if (const packets::RegisterRow* row = regs::find_register(address, other)) {
      return fmt::format("; it is {} on {}", row->name, to_string(other));
    }
  }
  return "";
}

}  // namespace

void LintChecker::add(RuleId rule, const emu::PacketEvent& event, std::string message) {
  Finding finding;
  finding.rule = rule;
  finding.culprits = {describe(deed_of(event), "is wrong", 0, false)};
  finding.message = std::move(message);
  log_.add(std::move(finding));
}

void LintChecker::on_packet(const emu::PacketEvent& event) {
  if (!event.packet.ok()) return;  // it faults
  queues_[event.queue.config.id].packet = deed_of(event);
  std::vector<packets::Problem> problems;
  packets::validate(event.packet, problems);
  packets::lint(event.packet, problems);
  for (packets::Problem& problem : problems) {
    if (problem.severity == Severity::Note) continue;
    std::string message = std::move(problem.message);
    if (!problem.rule.empty()) message += fmt::format(" ({})", problem.rule);
    add(rule_of(problem.kind), event, std::move(message));
  }
  check_registers(event);
}

void LintChecker::check_registers(const emu::PacketEvent& event) {
  if (event.packet.pm4_id() != pm4::Id::SetShReg) return;
  const auto set = event.packet.as<pm4::SetShReg>();
  const GfxFamily family = event.packet.family;
  for (size_t i = 0; i < event.packet.payload().size(); ++i) {
    const auto offset = static_cast<uint32_t>(set.reg_offset() + i);
    const uint32_t address = regs::kShBase + offset;
    if (regs::find_register(address, family) != nullptr) continue;
    add(RuleId::UnknownRegister, event,
        fmt::format("SET_SH_REG writes register 0x{:x}, which is no compute register of {}{}.",
                    offset, to_string(family), other_use(address, family)));
  }
}

emu::AccessLog* LintChecker::on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                                         const emu::Dispatch& dispatch) {
  QueueState& state = queues_[queue.config.id];
  Deed& run = state.runs[tag] = state.packet;
  run.agent = Agent::Shader;
  run.program = dispatch.program;
  if (const auto known = kernels_.find(dispatch.program); known != kernels_.end()) {
    run.kernel = known->second;
  }
  return nullptr;
}

void LintChecker::on_dispatch_end(const emu::QueueRef& queue, uint64_t tag,
                                  const emu::DispatchCounters& counters) {
  if (counters.lds_out_of_range == 0) return;
  Finding finding;
  finding.rule = RuleId::LdsOutOfBounds;
  finding.culprits = {describe(queues_[queue.config.id].runs[tag], "misses its LDS", 0, false)};
  finding.message = fmt::format(
      "{} accesses of lanes lie beyond the LDS that the workgroup has: loads give 0, stores "
      "vanish.",
      counters.lds_out_of_range);
  log_.add(std::move(finding));
}

void LintChecker::on_completion(const emu::QueueRef& queue, emu::CompletionKind, uint64_t tag,
                                std::span<const emu::MemoryAccess>) {
  queues_[queue.config.id].runs.erase(tag);
}

void LintChecker::on_queue_destroyed(const emu::QueueRef& queue) {
  queues_.erase(queue.config.id);
}

void LintChecker::on_kernel_name(uint64_t entry, uint64_t, std::string name) {
  kernels_[entry] = std::move(name);
}

void LintChecker::on_fault(const emu::QueueRef& queue, const emu::Fault& fault) {
  if (is_page_fault(fault)) return;
  const bool packet = fault.kind == emu::FaultKind::BadPacket ||
                      fault.kind == emu::FaultKind::UnsupportedPacket ||
                      fault.kind == emu::FaultKind::Misaligned;
  Finding finding;
  finding.rule = packet && !fault.wave ? RuleId::BrokenPacket : RuleId::KernelFault;
  finding.culprits = {culprit_of(queue, fault, "fails")};
  finding.message = fault.message;
  log_.add(std::move(finding));
}

}  // namespace doppel::verify
