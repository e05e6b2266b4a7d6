// AqlProcessor: what each AQL packet of a compute queue does: kernel dispatch, barrier-AND,
// barrier-OR, and AMD's vendor packets (PM4 IB, barrier-value).
//
// Ordering: packets are taken up in order. A barrier packet holds the queue until its signals allow
// it to go on; a kernel dispatch runs beside the stream (compute_pipe.h) and completes whenever it
// is done; the barrier bit waits for all earlier packets. A packet's header becomes INVALID once it
// is taken up; read_dispatch_id passes it, in order, once it has completed, because kernels read
// their packet through the dispatch pointer until then. Acquire and release fences need nothing:
// memory is coherent here.
//
// Completion: timestamps, then an atomic decrement of the signal's value, then the mailbox and the
// interrupt. Scratch and errors go through the queue's queue_inactive_signal, as ROCr expects.
//
// Sources: HSA Platform System Architecture and Runtime Programmer's Reference manuals; ROCr's
// amd_hsa_queue.h, amd_hsa_signal.h and AqlQueue::DynamicScratchHandler; LLVM AMDGPU usage guide
// (initial kernel register state).
#pragma once

#include <cstdint>
#include <deque>

#include "core/abi/amd_queue.h"
#include "core/abi/kernel_descriptor.h"
#include "core/packets/packet.h"
#include "emulator/cp/cp_context.h"
#include "emulator/packet_outcome.h"

namespace doppel::emu {

class AqlProcessor {
 public:
  /// `read_pointer`: the address of read_dispatch_id in the queue's amd_queue_t.
  AqlProcessor(const CpContext& context, uint64_t read_pointer);

  /// Carries out `packet`, which lies at `va` in the ring.
  PacketResult execute(const packets::Packet& packet, const PacketPlace& place, uint64_t va);

  /// What Next::Wait waits for.
  const Wait& wait() const { return wait_; }

  std::expected<void, Fault> dispatch_done(const InFlightPacket& in_flight);
  /// The stream is at the ring again: a PM4 IB packet, if one was taken up, is complete.
  std::expected<void, Fault> left_ib();

  /// Packets done from the queue's first on, without a gap: read_dispatch_id.
  uint64_t retired() const { return retired_; }
  /// Whether retired() has grown since the last call.
  bool take_retired();

  /// Tells the runtime that the queue has stopped, unless the driver does (memory faults).
  void report_error(const Fault& fault);

 private:
  /// How far a packet that takes several steps has come.
  enum class Stage : uint8_t { Fresh, AskedForScratch, UsesScratchOnce, ReturnsScratch };

  PacketResult kernel_dispatch(const packets::Packet& packet, const PacketPlace& place,
                               uint64_t va);
  PacketResult launch(const packets::Packet& packet, const PacketPlace& place, uint64_t va,
                      const abi::AmdQueue& queue);
  PacketResult ask_for_scratch(const packets::Packet& packet, const abi::AmdQueue& queue,
                               bool wave32);
  PacketResult return_scratch(const abi::AmdQueue& queue);
  PacketResult barrier_and(const packets::Packet& packet);
  PacketResult barrier_or(const packets::Packet& packet);
  PacketResult barrier_value(const packets::Packet& packet);
  PacketResult pm4_ib(const packets::Packet& packet, uint64_t va);
  PacketResult finish_barrier(uint64_t completion_signal, uint64_t va);

  std::expected<void, Fault> check(const packets::Packet& packet);
  std::expected<Dispatch, Fault> make_dispatch(const packets::Packet& packet, uint64_t va,
                                               const abi::AmdQueue& queue);
  void set_user_data(Dispatch& dispatch, const packets::Packet& packet, uint64_t va,
                     const abi::KernelDescriptor& descriptor, const abi::AmdQueue& queue) const;

  std::expected<void, Fault> complete(uint64_t signal, uint64_t started);
  /// Stores the signal's event id to its mailbox and raises the interrupt, if it has a mailbox.
  std::expected<void, MemoryFault> notify(uint64_t signal);
  std::expected<void, MemoryFault> set_inactive(const abi::AmdQueue& queue, uint32_t code);
  PacketResult wait_until_cleared(const abi::AmdQueue& queue);
  template <class Struct>
  std::expected<Struct, MemoryFault> read(uint64_t va);
  std::expected<void, Fault> take_up(uint64_t va);
  void retire(uint64_t index);
  GfxFamily family() const { return context_.target.family; }

  /// A fault with the error code that the runtime is to see.
  std::unexpected<Fault> refuse(FaultKind kind, uint32_t code, std::string message);

  CpContext context_;
  const uint64_t queue_va_;  // of the amd_queue_t
  Wait wait_;
  uint32_t error_code_ = 0;

  uint64_t retired_ = 0;
  uint64_t reported_ = 0;
  std::deque<bool> done_;  // of the packets from retired_ on

  uint64_t index_ = ~uint64_t{0};  // of the current packet
  uint64_t started_ = 0;           // GPU counter when it was first looked at
  Stage stage_ = Stage::Fresh;
  bool in_pm4_ib_ = false;
  uint64_t ib_signal_ = 0;
};

}  // namespace doppel::emu
