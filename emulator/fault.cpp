#include "emulator/fault.h"

#include <fmt/format.h>

namespace doppel::emu {

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::UnmappedAccess:
      return "UnmappedAccess";
    case FaultKind::PermissionDenied:
      return "PermissionDenied";
    case FaultKind::Misaligned:
      return "Misaligned";
    case FaultKind::BadPacket:
      return "BadPacket";
    case FaultKind::UnsupportedPacket:
      return "UnsupportedPacket";
    case FaultKind::IllegalInstruction:
      return "IllegalInstruction";
    case FaultKind::UnsupportedInstruction:
      return "UnsupportedInstruction";
    case FaultKind::BadDispatch:
      return "BadDispatch";
    case FaultKind::InstructionBudget:
      return "InstructionBudget";
    case FaultKind::Trap:
      return "Trap";
    case FaultKind::MemoryViolation:
      return "MemoryViolation";
  }
  return "Fault";
}

namespace {

/// "pc 0x7f00, program 0x7e00+0x100"; a wave that has jumped out of all code has no such offset.
std::string place_of(const WaveLocation& wave) {
  constexpr uint64_t kLongestProgram = uint64_t{1} << 30;
  if (wave.pc - wave.program < kLongestProgram) {
    return fmt::format("pc 0x{:x}, program 0x{:x}+0x{:x}", wave.pc, wave.program,
                       wave.pc - wave.program);
  }
  return fmt::format("pc 0x{:x}, far from its program 0x{:x}", wave.pc, wave.program);
}

}  // namespace

std::string Fault::to_string() const {
  auto text = fmt::format("{}: {}\n", emu::to_string(kind), message);
  auto out = std::back_inserter(text);
  if (wave) {
    if (!wave->kernel.empty()) fmt::format_to(out, "  kernel: {}\n", wave->kernel);
    fmt::format_to(out, "  instruction: {} ({})\n",
                   wave->disassembly.empty() ? "none can be read" : wave->disassembly,
                   place_of(*wave));
    fmt::format_to(out, "  workgroup: ({}, {}, {}), wave {}", wave->workgroup[0],
                   wave->workgroup[1], wave->workgroup[2], wave->wave);
    if (wave->lane) fmt::format_to(out, ", lane {}", *wave->lane);
    text += '\n';
  }
  if (address && access_size) {
    fmt::format_to(out, "  address: 0x{:x} ({} of {} bytes)\n", *address,
                   is_fetch   ? "fetch"
                   : is_write ? "write"
                              : "read",
                   access_size);
  } else if (address) {
    fmt::format_to(out, "  address: 0x{:x}\n", *address);
  }
  if (!nearest_allocation.empty()) {
    fmt::format_to(out, "  nearest allocation: {}\n", nearest_allocation);
  }
  if (!packet.empty()) fmt::format_to(out, "  packet: {}\n", packet);
  if (packet_offset) fmt::format_to(out, "  packet offset: {} dwords\n", *packet_offset);
  fmt::format_to(out, "  queue: {} of gpu {}\n", queue, gpu);
  return text;
}

}  // namespace doppel::emu
