#include "core/graph/aql_executor.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "core/command_encoder.h"
#include "core/device.h"
#include "core/graph/indirect_stream.h"
#include "core/graph/kernel_memory.h"
#include "core/graph/transfer.h"

namespace doppel::graph {
namespace {

/// Signals that one barrier packet can wait for.
constexpr size_t kBarrierSignals = 5;

/// Packets that a launch may add to a lane's own: the caller's wait and signal, the finish, and the
/// barriers that wait for 15 other queues.
constexpr uint64_t kLaunchDwords = 8 * sizeof(abi::KernelDispatchPacket) / sizeof(uint32_t);

/// Waits until all `signals` are 0, then completes `completion` if there is one.
void join(CommandStream& stream, std::span<const SignalRef> signals, const SignalRef& completion) {
  if (stream.language() == packets::Language::Sdma) {
    SdmaEncoder encoder(stream);
    for (const SignalRef& signal : signals) encoder.wait(signal, 0, SignalCondition::Equal);
    if (completion.address != 0) encoder.signal(completion, 0);
    return;
  }
  AqlEncoder encoder(stream);
  for (; signals.size() > kBarrierSignals; signals = signals.subspan(kBarrierSignals))
    encoder.barrier_and(signals.first(kBarrierSignals));
  if (!signals.empty() || completion.address != 0) encoder.barrier_and(signals, completion);
}

/// One queue's share of the graph.
struct AqlLane {
  Queue* queue = nullptr;
  CommandStream packets;  // AQL: the virtual queue
  IndirectStream nodes;   // SDMA
  Signal arrived;
  Signal done;

  bool is_sdma() const { return queue->kind() == QueueKind::Sdma; }
  CommandStream& commands() { return is_sdma() ? nodes.commands() : packets; }
  std::span<uint32_t> dwords() { return is_sdma() ? nodes.dwords() : packets.dwords(); }
};

class AqlExecutor final : public Executor {
 public:
  AqlExecutor(const Definition& definition, const Plan& plan, const GraphOptions& options)
      : plan_(plan),
        step_signals_(plan.steps.size()),
        patches_(definition.nodes.size()),
        profile_(options.profile) {}

  Result<> open(const Definition& definition, const GraphOptions& options);

  void patch(NodeId node, const Work& work) override;
  Result<> submit(const GraphLaunchOptions& options) override;
  uint64_t submitted() const override { return submitted_; }
  uint64_t completed() const override {
    return finish_.value() == 0 || submitted_ == 0 ? submitted_ : submitted_ - 1;
  }
  Result<> wait(uint64_t launch, const WaitOptions& options) override;
  std::vector<Ticks> ticks() const override;
  std::vector<GraphStream> commands() const override;

 private:
  using WorkPatch = std::variant<DispatchPatch, CopyPatch>;

  Result<> open_lane(Queue& queue);
  Result<> open_signals();
  Result<> encode_lane(const Definition& definition, QueueIndex index);
  Result<> check_room(AqlLane& lane, const std::string& node) const;
  void encode_step(const Definition& definition, StepIndex index, AqlLane& lane);
  void encode_kernel(StepIndex index, const KernelWork& work, AqlLane& lane);
  void encode_transfer_step(StepIndex index, const Work& work, AqlLane& lane);
  Submission hub_submission(const GraphLaunchOptions& options);
  Submission submission(const AqlLane& lane);
  void append_user_signal(Submission& submission, const Signal& signal, uint64_t value);
  void reset_signals();
  std::vector<SignalRef> of_others(Signal AqlLane::*signal) const;
  AqlLane& hub() { return lanes_.front(); }

  Plan plan_;
  std::vector<AqlLane> lanes_;  // by QueueIndex; the first is the hub
  KernelMemory kernels_;
  std::vector<Signal> step_signals_;  // empty for steps that nobody waits for
  std::vector<WorkPatch> patches_;    // by node, in the dwords of its lane
  Signal kickoff_;
  Signal finish_;
  bool profile_;
  uint64_t submitted_ = 0;
};

Result<> AqlExecutor::open(const Definition& definition, const GraphOptions& options) {
  for (const PlanQueue& queue : plan_.queues) {
    DOPPEL_ASSIGN(Queue * found, queue_for(queue, options));
    DOPPEL_TRY(open_lane(*found));
  }
  DOPPEL_TRY(open_signals());
  std::vector<Queue*> queues;
  for (const AqlLane& lane : lanes_) queues.push_back(lane.queue);
  DOPPEL_ASSIGN(kernels_, KernelMemory::make(definition, plan_, queues));
  for (QueueIndex index = 0; index < lanes_.size(); ++index)
    DOPPEL_TRY(encode_lane(definition, index));
  return {};
}

Result<> AqlExecutor::open_lane(Queue& queue) {
  Device& device = queue.device();
  const GfxFamily family = device.target().family;
  AqlLane lane{.queue = &queue,
               .packets = CommandStream(packets::Language::Aql, family),
               .nodes = IndirectStream(QueueKind::Sdma, family),
               .arrived = {},
               .done = {}};
  DOPPEL_ASSIGN(lane.arrived, device.create_signal({.initial = 1, .interrupt = false}));
  DOPPEL_ASSIGN(lane.done, device.create_signal({.initial = 1, .interrupt = false}));
  lanes_.push_back(std::move(lane));
  return {};
}

Result<> AqlExecutor::open_signals() {
  Device& device = hub().queue->device();
  DOPPEL_ASSIGN(kickoff_, device.create_signal({.initial = 1, .interrupt = false}));
  DOPPEL_ASSIGN(finish_, device.create_signal({.initial = 0}));
  for (StepIndex index = 0; index < plan_.steps.size(); ++index) {
    if (!plan_.steps[index].signals && !profile_) continue;
    DOPPEL_ASSIGN(step_signals_[index], device.create_signal({.initial = 1, .interrupt = false}));
  }
  return {};
}

std::vector<SignalRef> AqlExecutor::of_others(Signal AqlLane::*signal) const {
  std::vector<SignalRef> refs;
  for (const AqlLane& lane : std::span(lanes_).subspan(1)) refs.push_back((lane.*signal).ref());
  return refs;
}

Result<> AqlExecutor::encode_lane(const Definition& definition, QueueIndex index) {
  AqlLane& lane = lanes_[index];
  const bool is_hub = index == 0;
  CommandStream& stream = lane.commands();
  if (!is_hub) {
    join(stream, {}, lane.arrived.ref());
    join(stream, {{kickoff_.ref()}}, {});
  } else if (lanes_.size() > 1) {
    join(stream, of_others(&AqlLane::arrived), kickoff_.ref());
  }
  for (StepIndex step : plan_.queues[index].steps) {
    encode_step(definition, step, lane);
    if (lane.is_sdma()) lane.nodes.allow_cut();
    DOPPEL_TRY(check_room(lane, describe(definition, plan_.steps[step].node)));
  }
  if (lane.is_sdma()) return lane.nodes.bind(lane.queue->device());
  return {};
}

Result<> AqlExecutor::check_room(AqlLane& lane, const std::string& node) const {
  const CommandStream& stream = lane.commands();
  if (auto encoded = stream.check(); !encoded) {
    return error(encoded.error().code(), fmt::format("{}: {}", node, encoded.error().message()));
  }
  const uint64_t room = lane.queue->max_stream();
  if (lane.is_sdma() || stream.size() + kLaunchDwords <= room) return {};
  return error(StatusCode::Exhausted,
               fmt::format("{} is one too many for the AQL queue of {}, which holds {} packets at "
                           "once.",
                           node, lane.queue->device().info().name,
                           room * sizeof(uint32_t) / sizeof(abi::KernelDispatchPacket)));
}

void AqlExecutor::encode_step(const Definition& definition, StepIndex index, AqlLane& lane) {
  const Step& step = plan_.steps[index];
  std::vector<SignalRef> awaited;
  for (StepIndex producer : step.waits) awaited.push_back(step_signals_[producer].ref());
  join(lane.commands(), awaited, {});
  const Work& work = definition.nodes[step.node].work;
  if (const auto* kernel = std::get_if<KernelWork>(&work))
    encode_kernel(index, *kernel, lane);
  else
    encode_transfer_step(index, work, lane);
}

void AqlExecutor::encode_kernel(StepIndex index, const KernelWork& work, AqlLane& lane) {
  const NodeId node = plan_.steps[index].node;
  DispatchCommand command = kernels_.command(node, work);
  if (step_signals_[index]) command.completion = step_signals_[index].ref();
  patches_[node] = AqlEncoder(lane.packets).exec(command);
}

void AqlExecutor::encode_transfer_step(StepIndex index, const Work& work, AqlLane& lane) {
  SdmaEncoder encoder(lane.nodes.commands());
  const Signal& signal = step_signals_[index];
  if (profile_) encoder.timestamp(signal.ref().start_ts_address());
  patches_[plan_.steps[index].node] = encode_transfer(encoder, work);
  if (profile_) encoder.timestamp(signal.ref().end_ts_address());
  if (plan_.steps[index].signals) encoder.signal(signal.ref(), 0);
}

void AqlExecutor::patch(NodeId node, const Work& work) {
  AqlLane& lane = lanes_[plan_.steps[plan_.step_of_node[node]].queue];
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    kernels_.write(node, *kernel);
    std::get<DispatchPatch>(patches_[node]).dims.set(lane.dwords(), kernel->dims);
  } else {
    patch_transfer(std::get<CopyPatch>(patches_[node]), lane.dwords(), work);
  }
}

Submission AqlExecutor::submission(const AqlLane& lane) {
  Submission submission(lane.queue->kind(), lane.queue->device().target().family);
  if (lane.is_sdma())
    lane.nodes.call(submission.commands);
  else
    submission.commands = lane.packets;
  // Behind the indirect buffer, not in it: once all is done, its memory may go.
  join(submission.commands, {}, lane.done.ref());
  return submission;
}

Submission AqlExecutor::hub_submission(const GraphLaunchOptions& options) {
  AqlLane& lane = hub();
  Submission submission(lane.queue->kind(), lane.queue->device().target().family);
  CommandStream& stream = submission.commands;
  if (options.wait != nullptr) {
    if (lane.is_sdma())
      SdmaEncoder(stream).wait(options.wait->ref(), options.wait_value);
    else
      AqlEncoder(stream).wait(options.wait->ref(), options.wait_value);
  }
  if (lane.is_sdma())
    lane.nodes.call(stream);
  else
    stream.append_stream(lane.packets);
  join(stream, of_others(&AqlLane::done), {});
  if (options.signal != nullptr)
    append_user_signal(submission, *options.signal, options.signal_value);
  join(stream, {}, finish_.ref());
  return submission;
}

void AqlExecutor::append_user_signal(Submission& submission, const Signal& signal, uint64_t value) {
  CommandStream& stream = submission.commands;
  if (stream.language() == packets::Language::Sdma) {
    SdmaEncoder(stream).signal(signal.ref(), value);
    return;
  }
  CommandStream pm4(packets::Language::Pm4, stream.family());
  Pm4Encoder(pm4).signal(signal.ref(), value);
  append_pm4(submission, pm4);
}

void AqlExecutor::reset_signals() {
  for (AqlLane& lane : lanes_) {
    lane.arrived.set(1);
    lane.done.set(1);
  }
  for (Signal& signal : step_signals_)
    if (signal) signal.set(1);
  kickoff_.set(1);
  finish_.set(1);
}

Result<> AqlExecutor::submit(const GraphLaunchOptions& options) {
  DOPPEL_TRY(wait(submitted_, {}));
  std::vector<QueuedSubmission> submissions;
  for (AqlLane& lane : lanes_)
    submissions.push_back(
        {lane.queue, &lane == &hub() ? hub_submission(options) : submission(lane)});
  reset_signals();
  if (auto published = submit_together(std::move(submissions)); !published) {
    finish_.set(0);
    return published;
  }
  ++submitted_;
  return {};
}

Result<> AqlExecutor::wait(uint64_t launch, const WaitOptions& options) {
  if (launch < submitted_ || launch == 0) return {};
  WaitOptions until_zero = options;
  until_zero.condition = SignalCondition::Equal;
  return finish_.wait(0, until_zero);
}

std::vector<Ticks> AqlExecutor::ticks() const {
  std::vector<Ticks> ticks;
  for (const Signal& signal : step_signals_)
    ticks.push_back({signal.start_ticks(), signal.end_ticks()});
  return ticks;
}

std::vector<GraphStream> AqlExecutor::commands() const {
  std::vector<GraphStream> streams;
  for (const AqlLane& lane : lanes_)
    streams.push_back({&lane.queue->device(), lane.queue->kind(),
                       lane.is_sdma() ? lane.nodes.snapshot() : lane.packets});
  return streams;
}

}  // namespace

Result<std::unique_ptr<Executor>> make_aql_executor(const Definition& definition, const Plan& plan,
                                                    const GraphOptions& options) {
  auto executor = std::make_unique<AqlExecutor>(definition, plan, options);
  DOPPEL_TRY(executor->open(definition, options));
  return executor;
}

}  // namespace doppel::graph
