// Pm4Processor: what each PM4 packet of a compute queue does. One call carries out one packet, or
// says what it waits for; calling again with the same packet goes on. Every packet of
// core/packets/pm4.inc has its function; the others are faults.
//
// Ordering: packets act in stream order. Dispatches run beside the stream (compute_pipe.h);
// RELEASE_MEM acts at the end of the pipe, the other packets at once.
//
// Sources: AMD PAL's MEC packet headers and the kernel's nvd.h (fields), the amdgpu driver's gfx11
// ring functions (use), GC 11 register headers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>

#include "core/packets/packet.h"
#include "emulator/cp/cp_context.h"
#include "emulator/packet_outcome.h"

namespace doppel::emu {

class Pm4Processor {
 public:
  explicit Pm4Processor(const CpContext& context) : context_(context) {}

  /// Carries out `packet`, which is well-formed and stands at `place`.
  PacketResult execute(const packets::Packet& packet, const PacketPlace& place);

  /// What Next::Wait waits for.
  const Wait& wait() const { return wait_; }

  /// A RELEASE_MEM has reached the end of the pipe: writes its data and raises its interrupt.
  std::expected<void, Fault> release(std::span<const uint32_t> packet);

 private:
  PacketResult set_registers(const packets::Packet& packet, uint32_t window);
  PacketResult dispatch_direct(const packets::Packet& packet, const PacketPlace& place);
  PacketResult dispatch_indirect(const packets::Packet& packet, const PacketPlace& place);
  PacketResult launch(const packets::Packet& packet, std::array<uint32_t, 3> dims,
                      uint32_t initiator, const PacketPlace& place);
  PacketResult release_mem(const packets::Packet& packet, const PacketPlace& place);
  PacketResult wait_reg_mem(const packets::Packet& packet);
  PacketResult write_data(const packets::Packet& packet);
  PacketResult copy_data(const packets::Packet& packet);
  PacketResult atomic_mem(const packets::Packet& packet);
  PacketResult event_write(const packets::Packet& packet);
  PacketResult indirect_buffer(const packets::Packet& packet);
  PacketResult cond_exec(const packets::Packet& packet);
  PacketResult pred_exec(const packets::Packet& packet);

  std::expected<uint64_t, Fault> copy_source(const packets::Packet& packet);
  std::expected<void, Fault> copy_destination(const packets::Packet& packet, uint64_t value);
  std::expected<void, Fault> write_register(uint32_t address, uint32_t value);
  std::expected<uint32_t, Fault> read_register(uint32_t address);

  GfxFamily family() const { return context_.target.family; }
  PacketResult wait_for(WaitFor what);

  CpContext context_;
  Wait wait_;
  uint64_t atomic_return_ = 0;  // COPY_DATA's ATOMIC_RETURN_DATA
};

}  // namespace doppel::emu
