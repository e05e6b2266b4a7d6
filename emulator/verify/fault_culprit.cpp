#include "emulator/verify/fault_culprit.h"

#include <fmt/format.h>

#include <utility>

namespace doppel::verify {

Culprit culprit_of(const emu::QueueRef& queue, const emu::Fault& fault, std::string role) {
  Culprit culprit;
  culprit.role = std::move(role);
  culprit.actor = queue.name;
  culprit.action = fault.packet.substr(0, fault.packet.find_first_of(" \n"));
  culprit.packet_offset = fault.packet_offset;
  if (fault.packet_offset) culprit.place = fmt::format("at dword {}", *fault.packet_offset);
  if (const auto& wave = fault.wave) {
    culprit.kernel =
        KernelPlace{.kernel = wave->kernel.empty() ? fmt::format("program 0x{:x}", wave->program)
                                                   : wave->kernel,
                    .pc = wave->pc,
                    .pc_offset = wave->pc - wave->program,
                    .wave = wave->wave,
                    .lane = wave->lane.value_or(0)};
  }
  return culprit;
}

}  // namespace doppel::verify
