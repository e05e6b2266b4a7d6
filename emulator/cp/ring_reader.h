// RingReader: the consumer's side of one hardware queue. Notices submissions by doorbell or by the
// write pointer in memory (some clients ring no doorbell), fetches dwords with wrap-around, and
// reports the read pointer in the queue's own unit: PM4 counts dwords, SDMA bytes, AQL packets.
// Inside, every position is in dwords since the queue's first packet; it never wraps.
//
// Sources of the units: HSA Platform System Architecture (AQL), the amdgpu driver's gfx11 and
// sdma6 ring functions (64-bit monotonic pointers), captured client streams.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "emulator/fault.h"
#include "emulator/gpu.h"
#include "emulator/memory/memory_port.h"

namespace doppel::emu {

inline constexpr uint64_t kAqlPacketDwords = 16;

class RingReader {
 public:
  /// `port` is the unit's own and outlives the reader.
  RingReader(const QueueConfig& config, MemoryPort& port);

  /// End of what has been submitted. Faults if the write pointer is unreadable, runs ahead by more
  /// than the ring holds (PM4, SDMA), or is no whole number of dwords (SDMA). An AQL producer may
  /// reserve further than the ring; the packets' headers say what is ready.
  std::expected<uint64_t, Fault> submitted();

  /// What submitted() returned last.
  uint64_t known_end() const { return submitted_; }

  uint64_t position() const { return position_; }
  void advance(uint64_t dwords) { position_ += dwords; }

  /// Copies dwords from position() + offset on, around the end of the ring.
  std::expected<void, Fault> fetch(uint64_t offset, std::span<uint32_t> out);

  /// Stores `position` as the queue's read pointer.
  std::expected<void, Fault> report(uint64_t position);

  /// GPU address of a position's dword.
  uint64_t address(uint64_t position) const { return base_ + position % dwords_ * 4; }
  uint64_t ring_dwords() const { return dwords_; }

  /// Another ring for the same positions; 0 bytes pauses the queue.
  void move(uint64_t base, uint64_t bytes);
  bool paused() const { return dwords_ == 0; }

 private:
  uint64_t to_dwords(uint64_t units) const;

  const QueueKind kind_;
  const uint64_t read_pointer_;
  const uint64_t write_pointer_;
  const uint64_t* doorbell_;
  MemoryPort& port_;
  MemoryPort pointers_;  // its own TLB entry, so that polling does not evict the packets'
  uint64_t base_;
  uint64_t dwords_;
  uint64_t position_ = 0;
  uint64_t submitted_ = 0;      // dwords
  uint64_t doorbell_idle_ = 0;  // the slot's content while nobody has rung since creation
  bool doorbell_rung_ = false;
};

}  // namespace doppel::emu
