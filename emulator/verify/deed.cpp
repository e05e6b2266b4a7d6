#include "emulator/verify/deed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace doppel::verify {
namespace {

KernelPlace describe_kernel(const Deed& deed, uint64_t va, bool write) {
  KernelPlace place;
  place.kernel = deed.kernel.empty() ? fmt::format("program 0x{:x}", deed.program) : deed.kernel;
  if (!deed.log) return place;
  const emu::AccessOrigin origin = deed.log->origin(va, write);
  place.pc = origin.pc;
  place.pc_offset = origin.pc - deed.program;
  place.wave = origin.wave;
  place.lane = origin.lane;
  return place;
}

}  // namespace

Deed deed_of(const emu::PacketEvent& event) {
  Deed deed;
  deed.agent =
      event.queue.config.kind == emu::QueueKind::Sdma ? Agent::Sdma : Agent::CommandProcessor;
  deed.gpu = event.queue.gpu;
  deed.actor = event.queue.name;
  deed.language = event.packet.language;
  deed.family = event.packet.family;
  deed.place = event.place;
  deed.size = static_cast<uint32_t>(std::min(deed.dwords.size(), event.packet.dwords.size()));
  std::copy_n(event.packet.dwords.begin(), deed.size, deed.dwords.begin());
  return deed;
}

Culprit describe(const Deed& deed, std::string role, uint64_t va, bool write) {
  Culprit culprit;
  culprit.role = std::move(role);
  culprit.actor = deed.actor;
  culprit.node = deed.node;
  if (deed.size == 0) {
    culprit.action = deed.call;
    return culprit;
  }
  const auto dwords = std::span(deed.dwords).first(deed.size);
  culprit.action = packets::next_packet(deed.language, dwords, deed.family).name();
  culprit.place = deed.place.to_string();
  culprit.packet_offset = deed.place.ring_position;
  culprit.packet = fmt::format("{:08x}", fmt::join(dwords, " "));
  if (deed.program != 0) culprit.kernel = describe_kernel(deed, va, write);
  return culprit;
}

}  // namespace doppel::verify
