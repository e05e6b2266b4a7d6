// PacketStream: where a front-end reads its packets: the ring, and indirect buffers (IBs) called
// from it. Positions, nesting, chaining and ends of IBs live here; what a packet means does not.
//
// A packet of the ring may arrive in pieces: fetch waits for the rest. An IB is complete when it is
// called: a packet that reaches beyond its end is a fault.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/cp/ring_reader.h"

namespace doppel::emu {

struct StreamOptions {
  bool reports_position = true;  // the ring's read pointer follows the front-end
  uint32_t ib_depth = 2;         // IBs within IBs: the CP has registers for IB1 and IB2
  // What one ring packet may call and chain without waiting in between: ends endless loops.
  uint32_t ib_calls = 64 * 1024;
  uint64_t ib_total_dwords = uint64_t{1} << 26;
  uint32_t ib_alignment = 4;  // bytes
};

/// Where a packet stands.
struct PacketPlace {
  uint64_t ring_position = 0;  // dwords since the queue's first packet; of the calling one in an IB
  uint64_t ib_base = 0;
  uint32_t ib_position = 0;  // dwords
  bool in_ib = false;

  /// "at dword 40 of the ring", "at dword 12 of the IB at 0x7000".
  std::string to_string() const;
};

class PacketStream {
 public:
  PacketStream(RingReader& ring, MemoryPort& port, StreamOptions options)
      : ring_(ring), port_(port), options_(options) {}

  /// Dwords from the current packet on that have been submitted.
  std::expected<uint64_t, Fault> available();

  /// Copies dwords of the current packet; they must be available, or the IB ends too early (a
  /// fault).
  std::expected<void, Fault> fetch(std::span<uint32_t> out);

  bool in_ib() const { return !ibs_.empty(); }

  /// Steps over `dwords` and returns from IBs that end there. Reports the ring's read pointer.
  std::expected<void, Fault> advance(uint64_t dwords);

  /// Steps over the current packet of `packet_dwords` and leaves out `dwords` behind it: of the
  /// same IB; in the ring, as they arrive.
  std::expected<void, Fault> skip(uint64_t packet_dwords, uint64_t dwords);

  /// Steps over the current packet of `packet_dwords` into an IB; `chain`: instead of the rest of
  /// the current IB.
  std::expected<void, Fault> enter_ib(uint64_t base, uint32_t dwords, bool chain,
                                      uint64_t packet_dwords);

  /// The current packet has waited for somebody else: what its IBs do from here is no mere loop.
  void waited() { calls_ = 0, called_dwords_ = 0; }

  /// Of the current packet.
  PacketPlace place() const;

  /// GPU address of the current packet.
  uint64_t address() const;

  struct Ib {
    uint64_t base = 0;
    uint32_t dwords = 0;
    uint32_t position = 0;
  };
  /// Innermost last.
  std::span<const Ib> ibs() const { return ibs_; }

 private:
  std::expected<void, Fault> settle();
  std::expected<void, Fault> advance_ring(uint64_t dwords);

  RingReader& ring_;
  MemoryPort& port_;
  StreamOptions options_;
  std::vector<Ib> ibs_;
  uint64_t calling_position_ = 0;  // ring position of the packet that called the outermost IB
  uint64_t ring_skip_ = 0;         // dwords of the ring still to be left out
  uint32_t calls_ = 0;             // IBs called and chained by the ring packet, and their dwords
  uint64_t called_dwords_ = 0;
};

}  // namespace doppel::emu
