#include "core/graph/pm4_executor.h"

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

/// Stage values, twice the launch's count, stay below 2^31, as all of a device's timelines do: then
/// the executor starts again at 0.
constexpr int64_t kLaunchesPerRound = (int64_t{1} << 30) - 1;

/// Calls `use` with the encoder of the stream's language.
template <class Use>
void encode(CommandStream& stream, Use use) {
  if (stream.language() == packets::Language::Sdma) {
    SdmaEncoder encoder(stream);
    use(encoder);
  } else {
    Pm4Encoder encoder(stream);
    use(encoder);
  }
}

/// One queue's share of the graph.
struct Pm4Lane {
  Queue* queue = nullptr;
  IndirectStream nodes;
  Signal progress;  // steps that signal, counted within a launch
  Signal stage;     // 2n-1: launch n may begin here; 2n: its steps here are complete
};

class Pm4Executor final : public Executor {
 public:
  Pm4Executor(const Definition& definition, const Plan& plan, const GraphOptions& options)
      : plan_(plan),
        patches_(definition.nodes.size()),
        profile_(options.profile),
        round_start_(-static_cast<int64_t>(options.launch_count)) {}

  Result<> open(const Definition& definition, const GraphOptions& options);

  void patch(NodeId node, const Work& work) override;
  Result<> submit(const GraphLaunchOptions& options) override;
  uint64_t submitted() const override { return submitted_; }
  uint64_t completed() const override {
    return static_cast<uint64_t>(round_start_ + finish_.value());
  }
  Result<> wait(uint64_t launch, const WaitOptions& options) override;
  std::vector<Ticks> ticks() const override;
  std::vector<GraphStream> commands() const override;

 private:
  using WorkPatch = std::variant<DispatchPatch, CopyPatch>;

  Result<> open_lane(Queue& queue);
  Result<> open_profile();
  Result<> encode_lane(const Definition& definition, QueueIndex index);
  void encode_step(const Definition& definition, StepIndex index, Pm4Lane& lane);
  void encode_hub_frame(CommandStream& frame, uint32_t launch, const GraphLaunchOptions& options);
  void encode_frame(CommandStream& frame, uint32_t launch, const Pm4Lane& lane);
  Result<> start_round();
  /// What the signals count a launch as.
  int64_t count_of(uint64_t launch) const { return static_cast<int64_t>(launch) - round_start_; }
  Pm4Lane& hub() { return lanes_.front(); }
  std::span<Pm4Lane> others() { return std::span(lanes_).subspan(1); }
  uint64_t ticks_address(StepIndex step) const {
    return stamps_.gpu_address() + step * sizeof(Ticks);
  }

  Plan plan_;
  std::vector<Pm4Lane> lanes_;  // by QueueIndex; the first is the hub
  KernelMemory kernels_;
  std::vector<WorkPatch> patches_;  // by node, in the dwords of its lane
  Signal kickoff_;                  // n: all queues may run launch n
  Signal finish_;                   // n: launch n is complete on all queues
  bool profile_;
  Allocation stamps_;  // Ticks by step
  uint64_t submitted_ = 0;
  int64_t round_start_;  // launches before the count was last 0
};

Result<> Pm4Executor::open(const Definition& definition, const GraphOptions& options) {
  if (options.launch_count > kLaunchesPerRound) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The count of launches ({}) is beyond the last one ({}).",
                             options.launch_count, kLaunchesPerRound));
  }
  for (const PlanQueue& queue : plan_.queues) {
    DOPPEL_ASSIGN(Queue * found, queue_for(queue, options));
    DOPPEL_TRY(open_lane(*found));
  }
  Device& device = hub().queue->device();
  DOPPEL_ASSIGN(kickoff_, device.create_signal({.initial = count_of(0), .interrupt = false}));
  DOPPEL_ASSIGN(finish_, device.create_signal({.initial = count_of(0)}));
  if (profile_) DOPPEL_TRY(open_profile());

  std::vector<Queue*> queues;
  for (const Pm4Lane& lane : lanes_) queues.push_back(lane.queue);
  DOPPEL_ASSIGN(kernels_, KernelMemory::make(definition, plan_, queues));
  for (QueueIndex index = 0; index < lanes_.size(); ++index)
    DOPPEL_TRY(encode_lane(definition, index));
  return {};
}

Result<> Pm4Executor::open_lane(Queue& queue) {
  Device& device = queue.device();
  Pm4Lane lane{.queue = &queue,
               .nodes = IndirectStream(queue.kind(), device.target().family),
               .progress = {},
               .stage = {}};
  DOPPEL_ASSIGN(lane.progress, device.create_signal({.interrupt = false}));
  DOPPEL_ASSIGN(lane.stage, device.create_signal({.initial = 2 * count_of(0), .interrupt = false}));
  lanes_.push_back(std::move(lane));
  return {};
}

Result<> Pm4Executor::open_profile() {
  DOPPEL_ASSIGN(stamps_, hub().queue->device().allocate(
                             plan_.steps.size() * sizeof(Ticks),
                             {.domain = MemoryDomain::Gtt, .coherent = true, .uncached = true}));
  std::ranges::fill(stamps_.host_as<Ticks>(), Ticks{});
  for (const Pm4Lane& lane : others()) DOPPEL_TRY(lane.queue->device().map(stamps_));
  return {};
}

Result<> Pm4Executor::encode_lane(const Definition& definition, QueueIndex index) {
  Pm4Lane& lane = lanes_[index];
  for (StepIndex step : plan_.queues[index].steps) {
    encode_step(definition, step, lane);
    lane.nodes.allow_cut();
    if (auto encoded = lane.nodes.commands().check(); !encoded) {
      return error(encoded.error().code(),
                   fmt::format("{}: {}", describe(definition, plan_.steps[step].node),
                               encoded.error().message()));
    }
  }
  return lane.nodes.bind(lane.queue->device());
}

void Pm4Executor::encode_step(const Definition& definition, StepIndex index, Pm4Lane& lane) {
  const Step& step = plan_.steps[index];
  const Work& work = definition.nodes[step.node].work;
  encode(lane.nodes.commands(), [&]<class Encoder>(Encoder& encoder) {
    for (StepIndex producer : step.waits) {
      const Step& awaited = plan_.steps[producer];
      encoder.wait(lanes_[awaited.queue].progress.ref(), awaited.signal_value);
    }
    if (profile_) encoder.timestamp(ticks_address(index) + offsetof(Ticks, start));
    if constexpr (std::is_same_v<Encoder, SdmaEncoder>) {
      patches_[step.node] = encode_transfer(encoder, work);
    } else {
      patches_[step.node] = encoder.exec(kernels_.command(step.node, std::get<KernelWork>(work)));
    }
    if (profile_) encoder.timestamp(ticks_address(index) + offsetof(Ticks, end));
    if (step.signals) encoder.signal(lane.progress.ref(), step.signal_value);
  });
}

void Pm4Executor::patch(NodeId node, const Work& work) {
  const std::span<uint32_t> dwords =
      lanes_[plan_.steps[plan_.step_of_node[node]].queue].nodes.dwords();
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    kernels_.write(node, *kernel);
    std::get<DispatchPatch>(patches_[node]).dims.set(dwords, kernel->dims);
  } else {
    patch_transfer(std::get<CopyPatch>(patches_[node]), dwords, work);
  }
}

void Pm4Executor::encode_hub_frame(CommandStream& frame, uint32_t launch,
                                   const GraphLaunchOptions& options) {
  encode(frame, [&]<class Encoder>(Encoder& encoder) {
    if (options.wait != nullptr) encoder.wait(options.wait->ref(), options.wait_value);
    for (const Pm4Lane& lane : others()) encoder.wait(lane.stage.ref(), 2 * launch - 1);
    if constexpr (std::is_same_v<Encoder, Pm4Encoder>) encoder.memory_barrier();
    if (lanes_.size() > 1) encoder.signal(kickoff_.ref(), launch);
    hub().nodes.call(frame);
    for (const Pm4Lane& lane : others()) encoder.wait(lane.stage.ref(), 2 * launch);
    if (lanes_.size() > 1)
      for (const Pm4Lane& lane : lanes_) encoder.signal(lane.progress.ref(), 0);
    if (options.signal != nullptr) encoder.signal(options.signal->ref(), options.signal_value);
    encoder.signal(finish_.ref(), launch);
  });
}

void Pm4Executor::encode_frame(CommandStream& frame, uint32_t launch, const Pm4Lane& lane) {
  encode(frame, [&]<class Encoder>(Encoder& encoder) {
    encoder.signal(lane.stage.ref(), 2 * launch - 1);
    encoder.wait(kickoff_.ref(), launch);
    if constexpr (std::is_same_v<Encoder, Pm4Encoder>) encoder.memory_barrier();
    lane.nodes.call(frame);
    encoder.signal(lane.stage.ref(), 2 * launch);
  });
}

Result<> Pm4Executor::start_round() {
  DOPPEL_TRY(wait(submitted_, {}));
  for (Pm4Lane& lane : lanes_) lane.stage.set(0);
  kickoff_.set(0);
  finish_.set(0);
  round_start_ = static_cast<int64_t>(submitted_);
  return {};
}

Result<> Pm4Executor::submit(const GraphLaunchOptions& options) {
  if (count_of(submitted_) == kLaunchesPerRound) DOPPEL_TRY(start_round());
  const auto launch = static_cast<uint32_t>(count_of(submitted_ + 1));
  std::vector<QueuedSubmission> submissions;
  for (Pm4Lane& lane : lanes_) {
    Submission submission(lane.queue->kind(), lane.queue->device().target().family);
    if (&lane == &hub())
      encode_hub_frame(submission.commands, launch, options);
    else
      encode_frame(submission.commands, launch, lane);
    submissions.push_back({lane.queue, std::move(submission)});
  }
  DOPPEL_TRY(submit_together(std::move(submissions)));
  ++submitted_;
  return {};
}

Result<> Pm4Executor::wait(uint64_t launch, const WaitOptions& options) {
  if (count_of(launch) <= 0) return {};  // of an earlier round
  return finish_.wait(count_of(launch), options);
}

std::vector<Ticks> Pm4Executor::ticks() const {
  const std::span<Ticks> stamps = stamps_.host_as<Ticks>();
  return {stamps.begin(), stamps.begin() + static_cast<ptrdiff_t>(plan_.steps.size())};
}

std::vector<GraphStream> Pm4Executor::commands() const {
  std::vector<GraphStream> streams;
  for (const Pm4Lane& lane : lanes_)
    streams.push_back({&lane.queue->device(), lane.queue->kind(), lane.nodes.snapshot()});
  return streams;
}

}  // namespace

Result<std::unique_ptr<Executor>> make_pm4_executor(const Definition& definition, const Plan& plan,
                                                    const GraphOptions& options) {
  auto executor = std::make_unique<Pm4Executor>(definition, plan, options);
  DOPPEL_TRY(executor->open(definition, options));
  return executor;
}

}  // namespace doppel::graph
