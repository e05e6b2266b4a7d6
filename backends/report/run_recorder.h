// RunRecorder: an observer that makes a Run of what an emulated machine does. It hands everything
// on to other observers (checkers), and puts counters of its own into every kernel.
//
// Times are those of the machine's clock. A packet ends where the next thing begins that its
// machine does: the clock stands while a packet is carried out.
//
// Observer's calls come on the thread that steps the simulator; host_call() on any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/report/order_graph.h"
#include "backends/report/run.h"
#include "core/clock.h"
#include "emulator/verify/observer.h"

namespace doppel::report {

struct RecorderOptions {
  bool counters = true;                // of each kernel's instructions and memory accesses
  std::vector<emu::Observer*> others;  // told everything too; one may log accesses, none may probe
};

class RunRecorder final : public emu::Observer {
 public:
  /// `clock` and the other observers outlive the recorder.
  RunRecorder(const Clock& clock, std::string title, RecorderOptions options = {});

  /// Spans that a report holds.
  static constexpr size_t kMaxSpans = 50'000;

  /// What the host asked the driver for.
  void host_call(std::string name, std::string detail, uint64_t begin_ns, uint64_t end_ns);
  /// What there is so far. Nobody steps the machine meanwhile, nor while the Run is used.
  Run& run();

  void on_queue_created(const emu::QueueRef& queue) override;
  void on_queue_destroyed(const emu::QueueRef& queue) override;
  void on_submission(const emu::QueueRef& queue, uint64_t end) override;
  void on_packet(const emu::PacketEvent& event) override;
  void on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                      std::span<const emu::MemoryAccess> accesses) override;
  emu::AccessLog* on_dispatch(const emu::QueueRef& queue, uint64_t tag,
                              const emu::Dispatch& dispatch) override;
  emu::WaveProbe* on_probe(const emu::QueueRef& queue, uint64_t tag,
                           const emu::Dispatch& dispatch) override;
  void on_dispatch_step(const emu::QueueRef& queue, uint64_t tag) override;
  void on_end_of_pipe_queued(const emu::QueueRef& queue, uint64_t tag) override;
  void on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                     std::span<const emu::MemoryAccess> accesses) override;
  void on_fault(const emu::QueueRef& queue, const emu::Fault& fault) override;
  void on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) override;
  void on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) override;

 private:
  using SpanNumber = std::optional<size_t>;  // none: left out

  struct Launch {
    SpanNumber span;
    uint32_t track = 0;
    size_t kernel = 0;
    uint64_t begin_ns = 0;
    std::unique_ptr<emu::AccessLog> log;
  };
  struct QueueState {
    uint32_t actor = 0;
    SpanNumber packet;
    std::vector<bool> busy_tracks;        // from track 1 on
    std::map<uint64_t, Launch> launches;  // by tag
  };

  QueueState& state(const emu::QueueRef& queue);
  SpanNumber add_span(Span span);
  /// Time goes on: what was waiting for its end has it.
  uint64_t tick();
  KernelCounters& kernel_of(const emu::Dispatch& dispatch, size_t& index);

  const Clock& clock_;
  RecorderOptions options_;
  Run run_;
  OrderGraph graph_;
  std::map<uint32_t, QueueState> queues_;  // by the driver's id
  std::map<std::string, size_t> kernels_;  // by name and program
  std::vector<size_t> ending_;             // spans
  std::mutex mutex_;                       // of calls_
  std::vector<Span> calls_;
};

}  // namespace doppel::report
