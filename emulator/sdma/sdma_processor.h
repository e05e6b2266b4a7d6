// SdmaProcessor: what each SDMA packet does. One call carries out one packet, or a slice of a big
// copy or fill, or says what the packet waits for; calling again with the same packet goes on.
//
// Sources: the kernel's sdma_v6_0_0_pkt_open.h (fields), ROCr's and the amdgpu driver's use.
#pragma once

#include <cstdint>
#include <span>

#include "core/clock.h"
#include "core/packets/packet.h"
#include "core/target.h"
#include "emulator/ih/interrupt_line.h"
#include "emulator/memory/memory_port.h"
#include "emulator/packet_outcome.h"

namespace doppel::emu {

struct SdmaContext {
  const Target& target;
  MemoryPort& memory;
  const Clock& clock;
  InterruptLine interrupts;
};

class SdmaProcessor {
 public:
  explicit SdmaProcessor(const SdmaContext& context) : context_(context) {}

  PacketResult execute(const packets::Packet& packet);

  /// What Next::Wait waits for.
  const Wait& wait() const { return wait_; }

 private:
  PacketResult copy_linear(const packets::Packet& packet);
  PacketResult copy_subwindow(const packets::Packet& packet);
  PacketResult write_linear(const packets::Packet& packet);
  PacketResult constant_fill(const packets::Packet& packet);
  PacketResult fence(const packets::Packet& packet);
  PacketResult trap(const packets::Packet& packet);
  PacketResult poll_regmem(const packets::Packet& packet);
  PacketResult atomic(const packets::Packet& packet);
  PacketResult timestamp_set(const packets::Packet& packet);
  PacketResult timestamp_get(uint64_t va, uint64_t value);
  PacketResult cond_exe(const packets::Packet& packet);
  PacketResult indirect(const packets::Packet& packet);

  /// The outcome of having moved `bytes` of a packet's `total`.
  Outcome progress(uint64_t bytes, uint64_t total);

  GfxFamily family() const { return context_.target.family; }
  uint64_t global_counter() const { return gpu_ticks(context_.clock.now_ns()); }

  SdmaContext context_;
  Wait wait_;
  uint64_t done_ = 0;            // bytes, or rows of a sub-window, of the packet in slices
  uint64_t counter_offset_ = 0;  // TIMESTAMP_SET: local counter minus global one
};

}  // namespace doppel::emu
