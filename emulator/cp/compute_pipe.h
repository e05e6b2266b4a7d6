// ComputePipe: the dispatches that one compute queue has launched, and the end-of-pipe events
// behind them.
//
// The overlap model: the front-end launches dispatches in order and goes on; up to kDispatchSlots
// run at once, each a block of its own, so that the scheduler interleaves them with everything else
// and kernels that wait for one another (or for a later packet of their queue) progress. Order
// comes only from the packets that ask for it: CS_PARTIAL_FLUSH and the AQL barrier bit wait for
// the pipe to drain; an end-of-pipe event (RELEASE_MEM) takes its place in line, does not hold up
// the front-end, and happens once every dispatch before it has completed. AQL dispatches complete
// as soon as they are done, in any order. A kernel that waits for a dispatch more than
// kDispatchSlots further on waits for ever, as it may on hardware that has run out of wave slots.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "emulator/block.h"
#include "emulator/dispatch/dispatcher.h"
#include "emulator/fault.h"

namespace doppel::emu {

struct GpuContext;
struct QueueRef;

inline constexpr uint32_t kDispatchSlots = 8;
inline constexpr uint32_t kPendingEvents = 64;

class ComputePipe {
 public:
  /// What became of a dispatch or event, in the order to be handled. `tag` is what the launcher
  /// gave.
  struct Completion {
    enum class What : uint8_t { DispatchDone, DispatchFaulted, EndOfPipe };
    What what = What::DispatchDone;
    uint64_t tag = 0;
    Fault fault;  // DispatchFaulted
  };

  ComputePipe(GpuContext& gpu, const QueueRef& queue, DispatcherOptions options);
  ~ComputePipe();

  bool has_slot() const { return running_ < kDispatchSlots; }
  bool scratch_in_use() const { return scratch_users_ != 0; }
  bool can_launch(const Dispatch& dispatch) const;
  bool can_queue_event() const { return events_ < kPendingEvents; }
  /// Nothing runs, and everything that has completed has been taken.
  bool idle() const { return line_.empty(); }

  /// Starts a dispatch; can_launch(dispatch) must hold.
  std::expected<void, Fault> launch(Dispatch dispatch, uint64_t tag);
  /// Queues an event behind everything launched so far; can_queue_event() must hold.
  void at_end_of_pipe(uint64_t tag);

  bool has_completion() const;
  /// The next completion; has_completion() must hold. The pipe is idle() only once all are taken.
  Completion take_completion();

  /// Drops everything in flight.
  void abandon();

 private:
  class Slot;
  struct Entry {
    uint64_t tag = 0;
    Slot* slot = nullptr;  // running dispatch; nullptr: an event
    bool uses_scratch = false;
  };

  Slot& free_slot();

  GpuContext& gpu_;
  const std::unique_ptr<const QueueRef> queue_;
  const DispatcherOptions options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Entry> line_;  // in program order
  uint32_t running_ = 0;    // entries with a slot
  uint32_t events_ = 0;     // entries without
  uint32_t scratch_users_ = 0;
  uint32_t finished_ = 0;  // slots whose dispatch has ended and is not taken yet
};

}  // namespace doppel::emu
