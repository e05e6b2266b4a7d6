// OrderGraph: finds out, while a run goes on, which work there is and what orders it: queues that
// go on only when something is done, and words by which one queue waits for another. Fills in a
// Run's nodes, edges and arrows.
//
// An edge is drawn from the latest work before a signal to the first work behind the wait for it;
// what follows from other edges is left out where that is easily seen. Stores of kernels to words
// that others wait for are not followed.
//
// On the thread that steps the simulator.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/report/run.h"
#include "emulator/verify/observer.h"
#include "emulator/verify/packet_sync.h"
#include "emulator/verify/sync_words.h"

namespace doppel::report {

class OrderGraph {
 public:
  /// `run` outlives the graph.
  explicit OrderGraph(Run& run) : run_(run) {}

  /// Nodes that a report holds.
  static constexpr size_t kMaxNodes = 5000;

  void add_queue(uint32_t id, uint32_t actor, bool in_order);
  void submit(const emu::QueueRef& queue, uint64_t end, uint64_t now_ns);
  void begin_packet(const emu::PacketEvent& event);
  /// A packet has been carried out, or a part of it.
  void step_packet(const emu::PacketEvent& event, std::span<const emu::MemoryAccess> accesses,
                   uint64_t now_ns);
  /// The current packet launches a kernel.
  void launch(const emu::QueueRef& queue, uint64_t tag, std::string name, std::string detail,
              uint64_t now_ns);
  /// The current packet acts when all kernels before it have ended.
  void queue_end_of_pipe(const emu::QueueRef& queue, uint64_t tag);
  void complete(const emu::QueueRef& queue, uint64_t tag,
                std::span<const emu::MemoryAccess> accesses, uint64_t now_ns);

 private:
  /// What the next work of a queue comes after.
  struct Before {
    uint32_t node = 0;
    EdgeKind kind = EdgeKind::Queue;
    std::string how;
  };
  struct Store {
    uint64_t value = 0;  // of the aligned 8 bytes, afterwards
    std::vector<uint32_t> after;
    uint32_t actor = 0;
    uint64_t at_ns = 0;
    std::string packet;
  };
  struct Submission {
    uint64_t end = 0;  // dwords
    std::optional<uint32_t> node;
    bool followed = false;  // by work of its own
  };
  struct Event {
    std::optional<uint32_t> node;  // of a kernel
    std::vector<uint32_t> after;   // of an end-of-pipe event
    std::string packet;
  };
  struct QueueState {
    uint32_t actor = 0;
    bool in_order = false;  // each packet is done before the next begins
    const emu::GpuVm* vm = nullptr;
    std::deque<Submission> submissions;
    std::vector<uint32_t> open;  // launched since the queue last waited for its pipe
    std::vector<Before> before;
    std::map<uint64_t, Event> events;  // by tag
    verify::PacketSync sync;
    std::string packet;  // "RELEASE_MEM at dword 40 of the ring"
    std::string packet_name, place;
    std::optional<uint32_t> transfer;  // the node of the current packet
    uint64_t transfer_bytes = 0;
    bool entered = false;
  };

  void enter(QueueState& queue, uint64_t now_ns);
  void pass_wait(QueueState& queue, const emu::MemoryWait& wait, uint64_t now_ns);
  std::optional<uint32_t> add_node(QueueState& queue, Node node);
  void transfer(QueueState& queue, std::span<const emu::MemoryAccess> accesses, uint64_t now_ns);
  void publish(const QueueState& queue, std::span<const emu::MemoryAccess> accesses,
               const std::vector<uint32_t>& after, const std::string& packet, uint64_t now_ns);
  static std::vector<uint32_t> latest(const QueueState& queue);

  Run& run_;
  std::map<uint32_t, QueueState> queues_;         // by the driver's id
  std::map<uint64_t, std::deque<Store>> stores_;  // by host address of the word
  uint64_t submissions_ = 0;
};

}  // namespace doppel::report
