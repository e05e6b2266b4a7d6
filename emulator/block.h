// Block: a hardware unit that the Scheduler may let run: a queue's front-end, a dispatch, the
// interrupt handler. A block never waits inside step(): what it waits for is state, so that the
// scheduler can poll it, and a stall can be explained.
//
// Everything here runs on the thread that steps the Simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/packet_outcome.h"

namespace doppel::emu {

class GpuVm;

/// What kind of thing would let a block go on.
enum class BlockCause : uint8_t {
  Memory,       // a word that somebody stores
  Register,     // a register that nothing will change
  Pipe,         // earlier work of the same queue
  Unpublished,  // an AQL packet that is reserved, but not valid
  Incomplete,   // the rest of a packet
  Paused,       // the driver
};

/// Why a block that has work cannot go on.
struct BlockedOn {
  BlockCause cause = BlockCause::Pipe;
  std::string packet;             // "WAIT_REG_MEM"; "" without one
  std::string place;              // "at dword 8 of the ring"
  uint64_t packet_offset = 0;     // dwords since the queue's first packet
  std::string reason;             // "WAIT_REG_MEM at dword 8 of the ring waits for ..."
  std::vector<MemoryWait> words;  // any of them would let it go on
  const GpuVm* vm = nullptr;      // of those words
};

class Block {
 public:
  virtual ~Block() = default;

  /// "queue 3 (pm4, gpu 0)", for reports.
  virtual std::string name() const = 0;

  /// Whether step() would make progress. Polled before every draw, so it must be cheap; a poll of
  /// guest memory that faults counts as runnable, and step() reports the fault.
  virtual bool runnable() = 0;

  /// Makes a bounded amount of progress; returns the nanoseconds of virtual time it took.
  virtual uint64_t step() = 0;

  /// No work is left: everything submitted has been carried out.
  virtual bool idle() = 0;

  /// Set if there is work, and it waits.
  virtual std::optional<BlockedOn> blocked_on() { return std::nullopt; }
};

}  // namespace doppel::emu
