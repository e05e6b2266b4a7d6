// Fault: what a guest did wrong, precise enough to find the line at fault. Produced by the packet
// processors, the dispatcher and the waves; stops only the queue it belongs to; handed to the
// driver model, which reports it as KFD would.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doppel::emu {

enum class FaultKind : uint8_t {
  UnmappedAccess,      // no mapping at the address on this GPU
  PermissionDenied,    // mapped, but not for this kind of access
  Misaligned,          // an address or size that the unit cannot take
  BadPacket,           // unknown, truncated, miscounted or reserved-field packet
  UnsupportedPacket,   // well-formed, not modelled
  IllegalInstruction,  // does not decode on this target
  UnsupportedInstruction,
  BadDispatch,        // grid, workgroup, register, LDS or scratch beyond the limits
  InstructionBudget,  // the wave ran longer than allowed
  Trap,               // S_TRAP or an arithmetic exception with traps on
  MemoryViolation,    // LDS or scratch out of bounds where hardware reports it
};

std::string_view to_string(FaultKind kind);

/// Where in a kernel a fault happened.
struct WaveLocation {
  uint64_t pc = 0;                      // GPU virtual address of the instruction
  uint64_t program = 0;                 // address of the kernel's first instruction
  std::string kernel;                   // its name, where the driver model can tell it
  std::array<uint32_t, 3> workgroup{};  // grid coordinates
  uint32_t wave = 0;                    // index in the workgroup
  std::optional<uint32_t> lane;
  std::string disassembly;  // of the instruction at pc, or its dwords
};

struct Fault {
  FaultKind kind = FaultKind::BadPacket;
  std::string message;                    // full sentence, present tense, value in parentheses
  uint32_t gpu = 0;                       // index in the simulator
  uint32_t queue = 0;                     // driver's queue id
  std::optional<uint64_t> packet_offset;  // dwords since the queue's first packet
  std::string packet;                     // dump of the packet at fault
  std::optional<WaveLocation> wave;
  std::optional<uint64_t> address;  // GPU virtual address accessed
  uint32_t access_size = 0;         // bytes; 0 if no access was involved
  bool is_write = false;
  bool is_fetch = false;           // of an instruction
  std::string nearest_allocation;  // "vram 0x7f0000000000+0x1000 (handle 12), 64 bytes below"

  /// One fact a line, most important first; what a user reads.
  std::string to_string() const;
};

}  // namespace doppel::emu
