// Observer: what the emulator tells about a run: packets, the bytes they and the kernels touch,
// dispatches, completions, queues, mappings, faults. Checkers are observers.
//
// Called on the thread that steps the simulator, in the order in which things happen. References
// are valid during the call. An observer changes nothing of the machine. Without one, the cost is a
// pointer test per packet, dispatch and memory instruction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/packets/packet.h"
#include "emulator/block.h"
#include "emulator/cp/packet_stream.h"
#include "emulator/dispatch/dispatch.h"
#include "emulator/dispatch/dispatcher.h"
#include "emulator/fault.h"
#include "emulator/gpu.h"
#include "emulator/memory/access_log.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::emu {

/// A hardware queue; the references live as long as the queue.
struct QueueRef {
  uint32_t gpu = 0;
  const GpuConfig& gpu_config;
  const QueueConfig& config;
  std::string_view name;  // "queue 3 (pm4, gpu 0)"
};

struct PacketEvent {
  const QueueRef& queue;
  const packets::Packet& packet;
  const PacketPlace& place;
  uint64_t va = 0;  // of the packet
};

/// How far the front-end has come with a packet.
enum class PacketProgress : uint8_t {
  Done,
  Waits,  // its condition does not hold yet; it will be carried out again
  Slice,  // a part of a long copy or fill is done
};

/// What ends beside the front-end.
enum class CompletionKind : uint8_t { DispatchDone, DispatchFaulted, EndOfPipe };

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void on_queue_created(const QueueRef&) {}
  virtual void on_queue_destroyed(const QueueRef&) {}
  /// The front-end has noticed a submission: `end` is where it ends, in dwords since the queue's
  /// first packet.
  virtual void on_submission(const QueueRef&, uint64_t /*end*/) {}

  /// A well-formed packet is about to be carried out for the first time.
  virtual void on_packet(const PacketEvent&) {}
  /// The front-end has carried a packet out, or a part of it, or found that it waits.
  virtual void on_packet_step(const PacketEvent&, PacketProgress, std::span<const MemoryAccess>) {}

  /// The queue's current packet launches a dispatch, which `tag` names until its completion.
  /// Returns the log that the dispatch's waves record into, or nullptr.
  virtual AccessLog* on_dispatch(const QueueRef&, uint64_t /*tag*/, const Dispatch&) {
    return nullptr;
  }
  /// As on_dispatch, which it follows: who sees each instruction of the dispatch, or nullptr.
  virtual WaveProbe* on_probe(const QueueRef&, uint64_t /*tag*/, const Dispatch&) {
    return nullptr;
  }
  /// A slice of the dispatch has been executed.
  virtual void on_dispatch_step(const QueueRef&, uint64_t /*tag*/) {}
  /// The dispatch has executed all of its workgroups; on_completion follows when its queue takes
  /// note.
  virtual void on_dispatch_end(const QueueRef&, uint64_t /*tag*/, const DispatchCounters&) {}
  /// The queue's current packet acts once all dispatches before it have completed.
  virtual void on_end_of_pipe_queued(const QueueRef&, uint64_t /*tag*/) {}
  /// A dispatch has ended, or an end-of-pipe event has been carried out, with these effects.
  virtual void on_completion(const QueueRef&, CompletionKind, uint64_t /*tag*/,
                             std::span<const MemoryAccess>) {}

  virtual void on_fault(const QueueRef&, const Fault&) {}

  virtual void on_map(const GpuVm&, const Mapping&) {}
  /// Called while the mapping is still there.
  virtual void on_unmap(const GpuVm&, const Mapping&) {}
};

}  // namespace doppel::emu
