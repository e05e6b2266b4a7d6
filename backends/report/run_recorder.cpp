#include "backends/report/run_recorder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/mock/loaded_program.h"
#include "core/assert.h"

namespace doppel::report {
namespace {

std::string kernel_name(const emu::Dispatch& dispatch) {
  std::string name = mock::function_name(*dispatch.vm, dispatch.program);
  return name.empty() ? fmt::format("program {:#x}", dispatch.program) : name;
}

std::string dimensions(const emu::Dispatch& dispatch) {
  return fmt::format("{} workgroups of {}", fmt::join(dispatch.grid, "x"),
                     fmt::join(dispatch.workgroup, "x"));
}

uint64_t workgroups(const emu::Dispatch& dispatch) {
  return uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
}

}  // namespace

RunRecorder::RunRecorder(const Clock& clock, std::string title, RecorderOptions options)
    : clock_(clock), options_(std::move(options)), graph_(run_) {
  run_.title = std::move(title);
  run_.actors.push_back({"host", "host"});
}

uint64_t RunRecorder::tick() {
  const uint64_t now = clock_.now_ns();
  for (const size_t span : ending_) run_.spans[span].end_ns = now;
  ending_.clear();
  return now;
}

RunRecorder::SpanNumber RunRecorder::add_span(Span span) {
  if (run_.spans.size() == kMaxSpans) {
    ++run_.left_out;
    return std::nullopt;
  }
  run_.spans.push_back(std::move(span));
  return run_.spans.size() - 1;
}

void RunRecorder::host_call(std::string name, std::string detail, uint64_t begin_ns,
                            uint64_t end_ns) {
  const std::scoped_lock lock(mutex_);
  calls_.push_back(
      {SpanKind::HostCall, kHost, 0, begin_ns, end_ns, std::move(name), std::move(detail)});
}

Run& RunRecorder::run() {
  tick();
  const std::scoped_lock lock(mutex_);
  for (Span& call : std::exchange(calls_, {})) add_span(std::move(call));
  return run_;
}

/// Of a queue that existed before the recorder, what is known from now on.
RunRecorder::QueueState& RunRecorder::state(const emu::QueueRef& queue) {
  const auto [entry, added] = queues_.try_emplace(queue.config.id);
  if (added) {
    entry->second.actor = static_cast<uint32_t>(run_.actors.size());
    run_.actors.push_back({std::string(queue.name),
                           fmt::format("gpu {} ({})", queue.gpu, queue.gpu_config.target->name)});
    graph_.add_queue(queue.config.id, entry->second.actor,
                     queue.config.kind == emu::QueueKind::Sdma);
  }
  return entry->second;
}

void RunRecorder::on_queue_created(const emu::QueueRef& queue) {
  tick();
  queues_.erase(queue.config.id);  // the driver gives numbers again
  state(queue);
  for (emu::Observer* other : options_.others) other->on_queue_created(queue);
}

void RunRecorder::on_queue_destroyed(const emu::QueueRef& queue) {
  tick();
  queues_.erase(queue.config.id);
  for (emu::Observer* other : options_.others) other->on_queue_destroyed(queue);
}

void RunRecorder::on_submission(const emu::QueueRef& queue, uint64_t end) {
  const uint64_t now = tick();
  state(queue);
  graph_.submit(queue, end, now);
  for (emu::Observer* other : options_.others) other->on_submission(queue, end);
}

void RunRecorder::on_packet(const emu::PacketEvent& event) {
  const uint64_t now = tick();
  QueueState& queue = state(event.queue);
  queue.packet = add_span(
      {SpanKind::Packet, queue.actor, 0, now, now, event.packet.name(), event.place.to_string()});
  graph_.begin_packet(event);
  for (emu::Observer* other : options_.others) other->on_packet(event);
}

void RunRecorder::on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                                 std::span<const emu::MemoryAccess> accesses) {
  const uint64_t now = tick();
  QueueState& queue = state(event.queue);
  if (progress != emu::PacketProgress::Waits) graph_.step_packet(event, accesses, now);
  if (queue.packet) {
    ending_.push_back(*queue.packet);
    if (progress == emu::PacketProgress::Waits) run_.spans[*queue.packet].kind = SpanKind::Wait;
    if (progress == emu::PacketProgress::Done) queue.packet.reset();
  }
  for (emu::Observer* other : options_.others) other->on_packet_step(event, progress, accesses);
}

KernelCounters& RunRecorder::kernel_of(const emu::Dispatch& dispatch, size_t& index) {
  std::string name = kernel_name(dispatch);
  const auto [entry, added] =
      kernels_.try_emplace(fmt::format("{} {:#x}", name, dispatch.program), run_.kernels.size());
  index = entry->second;
  if (added) {
    KernelCounters& kernel = run_.kernels.emplace_back();
    kernel.name = std::move(name);
    kernel.target = dispatch.target->name;
    kernel.program = dispatch.program;
    if (options_.counters) kernel.profile = std::make_unique<profile::KernelProfile>();
  }
  return run_.kernels[index];
}

emu::AccessLog* RunRecorder::on_dispatch(const emu::QueueRef& ref, uint64_t tag,
                                         const emu::Dispatch& dispatch) {
  const uint64_t now = tick();
  QueueState& queue = state(ref);
  Launch& launch = queue.launches[tag] = {};
  KernelCounters& kernel = kernel_of(dispatch, launch.kernel);
  ++kernel.launches;
  kernel.workgroups += workgroups(dispatch);
  const auto free = std::ranges::find(queue.busy_tracks, false);
  launch.track = static_cast<uint32_t>(free - queue.busy_tracks.begin()) + 1;
  if (free == queue.busy_tracks.end()) queue.busy_tracks.push_back(false);
  queue.busy_tracks[launch.track - 1] = true;
  launch.begin_ns = now;
  launch.span = add_span(
      {SpanKind::Kernel, queue.actor, launch.track, now, now, kernel.name, dimensions(dispatch)});
  graph_.launch(ref, tag, kernel.name, dimensions(dispatch), now);

  emu::AccessLog* log = nullptr;
  for (emu::Observer* other : options_.others) {
    emu::AccessLog* wanted = other->on_dispatch(ref, tag, dispatch);
    DOPPEL_ASSERT(log == nullptr || wanted == nullptr, "two observers log a kernel's accesses");
    if (wanted != nullptr) log = wanted;
  }
  if (!kernel.profile) return log;
  if (log == nullptr) {
    launch.log = std::make_unique<emu::AccessLog>();
    log = launch.log.get();
  }
  log->set_listener(kernel.profile.get());
  return log;
}

emu::WaveProbe* RunRecorder::on_probe(const emu::QueueRef& ref, uint64_t tag,
                                      const emu::Dispatch& dispatch) {
  for (emu::Observer* other : options_.others) {
    DOPPEL_ASSERT(other->on_probe(ref, tag, dispatch) == nullptr, "two observers probe a kernel");
  }
  return run_.kernels[state(ref).launches.at(tag).kernel].profile.get();
}

void RunRecorder::on_dispatch_step(const emu::QueueRef& queue, uint64_t tag) {
  tick();
  for (emu::Observer* other : options_.others) other->on_dispatch_step(queue, tag);
}

void RunRecorder::on_end_of_pipe_queued(const emu::QueueRef& queue, uint64_t tag) {
  tick();
  graph_.queue_end_of_pipe(queue, tag);
  for (emu::Observer* other : options_.others) other->on_end_of_pipe_queued(queue, tag);
}

void RunRecorder::on_completion(const emu::QueueRef& ref, emu::CompletionKind kind, uint64_t tag,
                                std::span<const emu::MemoryAccess> accesses) {
  const uint64_t now = tick();
  QueueState& queue = state(ref);
  if (const auto found = queue.launches.find(tag); found != queue.launches.end()) {
    const Launch& launch = found->second;
    run_.kernels[launch.kernel].busy_ns += now - launch.begin_ns;
    if (launch.span) run_.spans[*launch.span].end_ns = now;
    queue.busy_tracks[launch.track - 1] = false;
    queue.launches.erase(found);
  }
  graph_.complete(ref, tag, accesses, now);
  for (emu::Observer* other : options_.others) other->on_completion(ref, kind, tag, accesses);
}

void RunRecorder::on_fault(const emu::QueueRef& queue, const emu::Fault& fault) {
  tick();
  run_.faults.push_back(fault.to_string());
  for (emu::Observer* other : options_.others) other->on_fault(queue, fault);
}

void RunRecorder::on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  for (emu::Observer* other : options_.others) other->on_map(vm, mapping);
}

void RunRecorder::on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  for (emu::Observer* other : options_.others) other->on_unmap(vm, mapping);
}

}  // namespace doppel::report
