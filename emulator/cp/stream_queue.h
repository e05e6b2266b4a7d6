// StreamQueue: the front-end that all queues share: finds the next packet in the ring or an IB,
// hands it to the queue's processor, and does with the stream what the outcome says. One packet,
// one slice of a packet or one completion a step.
//
// A packet of the ring that is submitted only in part waits for its rest. A fault stops the queue
// for good; what it has in flight is dropped.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "core/packets/packet.h"
#include "emulator/cp/packet_stream.h"
#include "emulator/cp/ring_reader.h"
#include "emulator/hardware_queue.h"
#include "emulator/packet_outcome.h"

namespace doppel::emu {

class StreamQueue : public HardwareQueue {
 public:
  StreamQueue(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink,
              StreamOptions options);

  bool runnable() final;
  uint64_t step() final;
  bool idle() final;
  std::optional<BlockedOn> blocked_on() final;
  void update_ring(uint64_t ring, uint64_t ring_bytes) final { ring_.move(ring, ring_bytes); }
  void notice_submission() final;
  void visit_queued(const QueuedVisitor& visit) final;
  std::vector<PendingWrite> pending_writes() final;

 protected:
  /// Of the packets at the stream's current level.
  virtual packets::Language language() const = 0;
  virtual PacketResult execute(const packets::Packet& packet) = 0;
  virtual const Wait& wait() const = 0;

  /// Whether the ring's next packet, submitted in full, may be taken.
  virtual bool published() { return true; }
  /// Whether a wait for something other than memory is over.
  virtual bool over(WaitFor) { return false; }
  /// Work that ends after its packet.
  virtual bool has_completion() const { return false; }
  virtual std::expected<void, Fault> take_completion() { return {}; }
  /// Nothing that packets have started is still going on.
  virtual bool drained() const { return true; }
  /// The stream has left the packet, or the IB that it called.
  virtual std::expected<void, Fault> packet_done() { return {}; }
  /// Before a fault of the queue is reported.
  virtual void stopping(const Fault&) {}
  /// Adds the writes that wait for the pipe.
  virtual void add_pending_writes(std::vector<PendingWrite>&) {}

  /// Adds a packet and its place to a fault.
  Fault locate(Fault fault, const packets::Packet& packet, const PacketPlace& place) const;

  RingReader ring_;
  PacketStream stream_;
  std::vector<MemoryAccess> accesses_;  // of the current step, while somebody observes

 private:
  std::expected<bool, Fault> load();
  PacketResult carry_out();
  PacketResult carry_out_observed(Observer& observer);
  std::expected<void, Fault> follow(const Outcome& outcome);
  void note_submission(Observer& observer);
  bool wait_over();
  uint64_t stop(Fault fault);
  std::string waiting_for();

  std::vector<uint32_t> buffer_;
  packets::Packet packet_;  // the current one, in buffer_
  uint64_t needed_ = 1;     // dwords of the current packet, as far as known
  bool loaded_ = false;     // packet_ is being carried out
  bool fresh_ = false;      // ... and has not been before
  uint64_t noted_ = 0;      // end of what the observer knows to be submitted
  bool waiting_ = false;    // ... and waits
};

/// The packet in one line: "WAIT_REG_MEM function=... address=0x7f0010 ..."; the dwords of one that
/// does not decode.
std::string describe(const packets::Packet& packet);

}  // namespace doppel::emu
