// RingBuffer: the packets of one hardware queue in memory: where the next one goes, how much room
// is left, and how a stream is laid down so that its reader never sees half a packet.
//
//   PM4   dwords; packets may wrap around the end of the ring.
//   SDMA  bytes; a packet must not wrap, so that NOP dwords fill the rest of the ring. A stream
//         with an INDIRECT packet, which has to end at a multiple of 8 dwords (Linux kernel,
//         sdma_v6_0_ring_emit_ib), begins at one and stays in one piece: who encodes it only
//         knows the packet's place in the stream.
//   AQL   64-byte packets; the reader looks at headers, so that each is stored last.
//
// Pointers are monotonic and 64 bits wide; a place is the pointer modulo the ring's size. Knows
// nothing of drivers. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "core/command_stream.h"
#include "core/queue.h"

namespace doppel::kfd {

class RingBuffer {
 public:
  RingBuffer() = default;
  /// `ring` is a power of two long. AQL rings are filled with invalid packets.
  RingBuffer(QueueKind kind, std::span<uint32_t> ring);

  /// Dwords laid down since the queue was made, padding included.
  uint64_t put() const { return put_; }
  /// The write pointer in the unit of the queue's kind, as hardware wants it.
  uint64_t write_pointer() const;
  /// What to ring the doorbell with: the write pointer; for AQL the last packet's index.
  uint64_t doorbell_value() const {
    return kind_ == QueueKind::Aql ? write_pointer() - 1 : write_pointer();
  }

  /// Dwords that write() would advance put() by now.
  uint64_t needed(const CommandStream& stream) const;
  /// The longest stream, in dwords, that fits into an empty ring wherever put() stands.
  uint64_t max_stream() const;
  /// Dwords free when the reader reports `read_pointer` (in the kind's unit; some firmware reports
  /// it modulo the ring's size).
  uint64_t free_dwords(uint64_t read_pointer) const;

  /// Lays the stream down. The caller has made sure of room, and publishes the write pointer.
  void write(const CommandStream& stream);

 private:
  uint64_t capacity() const;
  void copy(std::span<const uint32_t> dwords);
  void pad(uint64_t dwords);
  /// Dwords of padding before a stream.
  uint64_t sdma_lead(const CommandStream& stream) const;
  void write_sdma(const CommandStream& stream);
  void write_aql(std::span<const uint32_t> dwords);

  QueueKind kind_ = QueueKind::Pm4;
  std::span<uint32_t> ring_;
  uint64_t put_ = 0;
};

}  // namespace doppel::kfd
