// OrderChecker: finds accesses of the same bytes that nothing orders (the hazard rules), and reads
// that are ordered and yet may see old bytes because a cache stands in between (the coherence
// rules). Follows happens-before over the host and all queues: ring order, doorbells, waits for
// words, end-of-pipe events, barriers, completions. Attach it before queues are created.
//
// The host is one actor; of its accesses it sees what it is told. A submission orders what the host
// did before it. Whoever tells of the host takes note of submissions first, so that what the host
// does after a doorbell counts as after it. Not thread-safe.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "core/verify/finding.h"
#include "core/verify/verify.h"
#include "emulator/verify/address_book.h"
#include "emulator/verify/cache_model.h"
#include "emulator/verify/checker.h"
#include "emulator/verify/deed.h"
#include "emulator/verify/packet_sync.h"
#include "emulator/verify/past.h"
#include "emulator/verify/shadow_map.h"
#include "emulator/verify/sync_words.h"

namespace doppel::verify {

class OrderChecker final : public Checker {
 public:
  /// `log` outlives the checker. Of `verify`, hazards, coherence, lifetime (for memory that is read
  /// and was never written) and unseen_host count.
  explicit OrderChecker(FindingLog& log, const Verify& verify = {.hazards = true})
      : log_(log),
        hazards_(verify.hazards),
        coherence_(verify.coherence),
        uninitialized_(verify.lifetime),
        unseen_host_(verify.unseen_host) {}

  void on_queue_created(const emu::QueueRef& queue) override;
  void on_queue_destroyed(const emu::QueueRef& queue) override;
  void on_submission(const emu::QueueRef& queue, uint64_t end) override;
  void on_packet(const emu::PacketEvent& event) override;
  void on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                      std::span<const emu::MemoryAccess> accesses) override;
  emu::AccessLog* on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                              const emu::Dispatch& dispatch) override;
  void on_end_of_pipe_queued(const emu::QueueRef& queue, uint64_t tag) override;
  void on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                     std::span<const emu::MemoryAccess> accesses) override;
  void on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) override;

  void on_host_access(uint64_t va, uint64_t bytes, MemoryAccess access,
                      std::string_view call) override;
  void on_host_store(uint64_t va, int64_t value, std::string_view call) override;
  void on_signal_created(uint64_t va, int64_t value) override;
  void on_host_load(uint64_t va) override;
  void on_host_wait(const HostWait& wait) override;
  void on_buffer_name(uint64_t va, std::string name) override;
  void on_kernel_name(uint64_t entry, uint64_t bytes, std::string name) override;

 private:
  struct Code {
    std::string kernel;
    uint64_t bytes = 0;
  };
  struct Submission {
    uint64_t end = 0;  // dwords
    Past past;         // of the host
  };
  /// A dispatch or an end-of-pipe event that has not completed.
  struct InFlight {
    Past past;
    std::shared_ptr<Deed> deed;
    std::shared_ptr<emu::AccessLog> log;
    uint64_t scratch_begin = 0, scratch_end = 0;
    CacheOps release;
  };
  struct QueueState {
    ActorId actor = 0;
    uint32_t gpu = 0;
    const emu::GpuVm* vm = nullptr;
    uint64_t ring_begin = 0, ring_end = 0;
    Past past;
    Past completed;         // of what has ended beside the front-end, its releases included
    uint64_t front = 0;     // packets taken up
    uint64_t launched = 0;  // dispatches and end-of-pipe events
    std::deque<Submission> submissions;
    std::map<uint64_t, InFlight> in_flight;  // by tag
    std::shared_ptr<Deed> deed;              // of the current packet
    PacketSync sync;
    bool entered = false;  // its waits and barrier are behind it
  };

  /// Of a queue that existed before the checker was attached, what is known from now on.
  QueueState& state(const emu::QueueRef& queue) {
    if (!queues_.contains(queue.config.id)) on_queue_created(queue);
    return queues_.at(queue.config.id);
  }
  std::shared_ptr<Deed> host_deed(std::string_view call);
  void fetch(const emu::PacketEvent& event, const QueueState& queue);
  void fetch_code(const QueueState& queue, const InFlight& started);
  void enter(QueueState& queue);
  InFlight& start(QueueState& queue, uint64_t tag);
  void watch(QueueState& queue, const packets::Packet& packet);
  void touch(const QueueState& queue, const Past& past, const DeedRef& deed,
             std::span<const emu::MemoryAccess> accesses);
  void publish(const QueueState& queue, const Past& past, const DeedRef& deed,
               const emu::MemoryAccess& access);
  void flush(const QueueState& queue, const InFlight& in_flight);
  void read(const Past& past, const DeedRef& deed, uint64_t host, uint64_t size, uint64_t va,
            ReadPath path);
  void write(const Past& past, const DeedRef& deed, uint64_t host, uint64_t size, uint64_t va,
             bool atomic);
  void look_for_stale(const CachedRead& read, uint64_t va);
  void report_uninitialized(const Buffer& buffer, const DeedRef& deed, uint64_t host, uint64_t size,
                            uint64_t va);
  void report(RuleId rule, const DeedRef& first, const DeedRef& second, uint64_t host,
              uint64_t size, uint64_t va);

  FindingLog& log_;
  bool hazards_;
  bool coherence_;
  bool uninitialized_;
  bool unseen_host_;
  AddressBook book_;
  std::map<uint64_t, Code> code_;             // by entry
  std::set<uint64_t> uninitialized_buffers_;  // by number: those that were reported
  ShadowMap shadow_;
  CacheModel caches_;
  SyncWords words_;
  Past host_;
  uint64_t host_steps_ = 0;
  ActorId next_actor_ = 1;
  std::map<uint32_t, QueueState> queues_;  // by the driver's id
};

}  // namespace doppel::verify
