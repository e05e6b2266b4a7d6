// Trains a small perceptron (2 inputs, 32 hidden units, 1 output) to multiply its inputs, through
// one graph that is recorded once and launched for every step:
//
//   SDMA     copy inputs, targets --+                                           +-- copy loss back
//   compute                         +-- forward (2) -- loss, backward, descend (4) +
//
// A step changes where the batch comes from, where the loss goes to, and the learning rate. Losses
// and weights are compared with the CPU's at the end. The same program runs on the emulator
// (--backend mock:gfx1100, the default) and on a card (--backend kfd:0).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "backends/open_device.h"
#include "core/graph.h"
#include "core/graph/timeline.h"
#include "core/prng.h"
#include "examples/train_tiny_shape.h"

using namespace doppel;

namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr uint32_t kBatches = 8;
constexpr float kTolerance = 1e-5f;

struct Options {
  std::string backend = "mock:gfx1100";
  std::string executor = "auto";
  uint32_t steps = 100;
  bool profile = false;
  std::string timeline;  // a file
};

const std::map<std::string, GraphExecutor> kExecutors = {
    {"auto", GraphExecutor::Auto}, {"pm4", GraphExecutor::Pm4Sdma}, {"aql", GraphExecutor::Aql}};

using Floats = std::vector<float>;

/// Inputs in [-1, 1], targets their product; kBatches batches.
struct Dataset {
  Floats inputs, targets;
};

struct Model {
  Floats hidden_weights, output_weights;
};

float uniform(Prng& prng) {
  return static_cast<float>(prng.below(20001)) / 10000.0f - 1.0f;
}

Dataset make_dataset(Prng& prng) {
  Dataset data;
  for (uint32_t sample = 0; sample < kBatches * kBatch; ++sample) {
    const float a = uniform(prng), b = uniform(prng);
    data.inputs.insert(data.inputs.end(), {a, b});
    data.targets.push_back(a * b);
  }
  return data;
}

Model make_model(Prng& prng) {
  Model model{Floats(kHiddenWeights), Floats(kOutputWeights)};
  for (float& weight : model.hidden_weights) weight = uniform(prng);
  for (float& weight : model.output_weights) weight = 0.25f * uniform(prng);
  return model;
}

/// Of the gradient's sum over a batch, so that the mean is descended.
float rate_of(uint32_t step) {
  return 0.1f / static_cast<float>(kBatch) / (1.0f + static_cast<float>(step) / 200.0f);
}

/// One step of the kernels of train_tiny.cl, operation for operation; returns the loss.
float step_on_cpu(Model& model, const float* inputs, const float* targets, float rate) {
  Floats hidden(kBatch * kHidden), delta(kBatch * kHidden), error(kBatch);
  for (uint32_t i = 0; i < hidden.size(); ++i) {
    const uint32_t sample = i / kHidden, unit = i % kHidden;
    float sum = model.hidden_weights[kInputs * kHidden + unit];
    for (uint32_t k = 0; k < kInputs; ++k)
      sum = std::fma(inputs[sample * kInputs + k], model.hidden_weights[k * kHidden + unit], sum);
    hidden[i] = sum > 0.0f ? sum : 0.0f;
  }
  for (uint32_t sample = 0; sample < kBatch; ++sample) {
    float sum = model.output_weights[kHidden];
    for (uint32_t unit = 0; unit < kHidden; ++unit)
      sum = std::fma(hidden[sample * kHidden + unit], model.output_weights[unit], sum);
    error[sample] = sum - targets[sample];
  }
  Floats tile(kBatch);
  for (uint32_t lane = 0; lane < kBatch; ++lane) tile[lane] = error[lane] * error[lane];
  for (uint32_t width = kBatch / 2; width > 0; width /= 2)
    for (uint32_t lane = 0; lane < width; ++lane) tile[lane] += tile[lane + width];
  for (uint32_t i = 0; i < delta.size(); ++i)
    delta[i] = hidden[i] > 0.0f ? error[i / kHidden] * model.output_weights[i % kHidden] : 0.0f;
  for (uint32_t unit = 0; unit <= kHidden; ++unit) {
    float gradient = 0.0f;
    for (uint32_t sample = 0; sample < kBatch; ++sample)
      gradient = std::fma(error[sample], unit < kHidden ? hidden[sample * kHidden + unit] : 1.0f,
                          gradient);
    model.output_weights[unit] = std::fma(-rate, gradient, model.output_weights[unit]);
  }
  for (uint32_t i = 0; i < kHiddenWeights; ++i) {
    const uint32_t input = i / kHidden, unit = i % kHidden;
    float gradient = 0.0f;
    for (uint32_t sample = 0; sample < kBatch; ++sample)
      gradient = std::fma(delta[sample * kHidden + unit],
                          input < kInputs ? inputs[sample * kInputs + input] : 1.0f, gradient);
    model.hidden_weights[i] = std::fma(-rate, gradient, model.hidden_weights[i]);
  }
  return tile[0] * (1.0f / static_cast<float>(kBatch));
}

/// The GPU's side: memory, the graph, and the handles that a step changes.
class Trainer {
 public:
  Trainer(Device& gpu, const Program& program) : gpu_(gpu), program_(program) {}

  Result<> prepare(const Dataset& data, const Model& model, const Options& options);
  /// Launches a step; the one before may still run.
  Result<> step(uint32_t number);
  /// Waits for the last step; the losses of all of them.
  Result<Floats> finish();
  Result<Model> weights();
  Result<std::vector<GraphNodeProfile>> profile() const { return exec_->profile(); }
  std::string_view executor() const { return to_string(exec_->executor()); }

 private:
  Result<Allocation> host_copy(const Floats& values);
  Result<Allocation> device_floats(size_t count) {
    return gpu_.allocate(count * sizeof(float), {.cpu_visible = true});
  }
  void record();
  void kernel(const char* name, const KernelArgs& arguments, uint32_t work_items) {
    graph_.kernel(program_.kernel(name), arguments,
                  Dim3((work_items + kWorkgroup - 1) / kWorkgroup), kWorkgroup);
  }

  Device& gpu_;
  const Program& program_;
  Allocation all_inputs_, all_targets_, losses_;  // host memory
  Allocation inputs_, targets_, hidden_, error_, delta_, loss_, hidden_weights_, output_weights_;
  Graph graph_;
  GraphNode load_inputs_, load_targets_, store_loss_;
  GraphVariable<float> rate_ = graph_.variable<float>("rate");
  std::optional<GraphExec> exec_;
  std::optional<GraphLaunch> last_;
};

Result<Allocation> Trainer::host_copy(const Floats& values) {
  DOPPEL_ASSIGN(Allocation memory, gpu_.allocate(values.size() * sizeof(float),
                                                 {.domain = MemoryDomain::Host, .coherent = true}));
  std::ranges::copy(values, memory.host_as<float>().begin());
  return memory;
}

Result<> Trainer::prepare(const Dataset& data, const Model& model, const Options& options) {
  DOPPEL_ASSIGN(all_inputs_, host_copy(data.inputs));
  DOPPEL_ASSIGN(all_targets_, host_copy(data.targets));
  DOPPEL_ASSIGN(losses_, host_copy(Floats(options.steps)));
  DOPPEL_ASSIGN(inputs_, device_floats(kBatch * kInputs));
  DOPPEL_ASSIGN(targets_, device_floats(kBatch));
  DOPPEL_ASSIGN(hidden_, device_floats(kBatch * kHidden));
  DOPPEL_ASSIGN(error_, device_floats(kBatch));
  DOPPEL_ASSIGN(delta_, device_floats(kBatch * kHidden));
  DOPPEL_ASSIGN(loss_, device_floats(1));
  DOPPEL_ASSIGN(hidden_weights_, device_floats(kHiddenWeights));
  DOPPEL_ASSIGN(output_weights_, device_floats(kOutputWeights));
  DOPPEL_TRY(gpu_.write(hidden_weights_, model.hidden_weights));
  DOPPEL_TRY(gpu_.write(output_weights_, model.output_weights));
  record();
  DOPPEL_ASSIGN(exec_, graph_.instantiate(gpu_, {.executor = kExecutors.at(options.executor),
                                                 .profile = options.profile}));
  return {};
}

/// What the kernels declare (const pointers only read) and the buffers' ranges give the order.
void Trainer::record() {
  load_inputs_ = graph_.copy(*all_inputs_.slice(0, inputs_.size()), inputs_, {.name = "inputs"});
  load_targets_ =
      graph_.copy(*all_targets_.slice(0, targets_.size()), targets_, {.name = "targets"});
  kernel("forward_hidden", args(inputs_, hidden_weights_, writes(hidden_)), kBatch * kHidden);
  kernel("forward_output", args(hidden_, output_weights_, targets_, writes(error_)), kBatch);
  kernel("mean_square", args(error_, writes(loss_)), kBatch);
  store_loss_ = graph_.copy(loss_, *losses_.slice(0, sizeof(float)), {.name = "loss"});
  kernel("backward_hidden", args(error_, hidden_, output_weights_, writes(delta_)),
         kBatch * kHidden);
  kernel("descend_output", args(error_, hidden_, output_weights_, rate_), kOutputWeights);
  kernel("descend_hidden", args(delta_, inputs_, hidden_weights_, rate_), kHiddenWeights);
}

Result<> Trainer::step(uint32_t number) {
  const uint32_t batch = number % kBatches;
  DOPPEL_ASSIGN(const auto inputs, all_inputs_.slice(batch * inputs_.size(), inputs_.size()));
  DOPPEL_ASSIGN(const auto targets, all_targets_.slice(batch * targets_.size(), targets_.size()));
  DOPPEL_ASSIGN(const auto loss, losses_.slice(number * sizeof(float), sizeof(float)));
  DOPPEL_TRY(exec_->set_buffer(load_inputs_, 0, inputs));
  DOPPEL_TRY(exec_->set_buffer(load_targets_, 0, targets));
  DOPPEL_TRY(exec_->set_buffer(store_loss_, 1, loss));
  DOPPEL_TRY(exec_->set(rate_, rate_of(number)));
  last_ = exec_->launch();
  return last_->status();
}

Result<Floats> Trainer::finish() {
  if (last_) DOPPEL_TRY(last_->wait());
  const auto values = losses_.host_as<float>();
  return Floats(values.begin(), values.end());
}

Result<Model> Trainer::weights() {
  Model model;
  DOPPEL_ASSIGN(model.hidden_weights, gpu_.read<float>(hidden_weights_));
  DOPPEL_ASSIGN(model.output_weights, gpu_.read<float>(output_weights_));
  return model;
}

Result<> compare(std::string_view what, const Floats& actual, const Floats& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const float allowed = kTolerance * std::max(1.0f, std::abs(expected[i]));
    if (std::abs(actual[i] - expected[i]) <= allowed) continue;
    return error(StatusCode::Malformed, fmt::format("The {} {} is wrong (got {}, expected {}).",
                                                    what, i, actual[i], expected[i]));
  }
  return {};
}

float mean(std::span<const float> values) {
  float sum = 0;
  for (float value : values) sum += value;
  return sum / static_cast<float>(values.size());
}

/// The losses of the first and the last pass over the data say whether it learns.
Result<> check_that_it_learns(const Floats& losses) {
  if (losses.size() < 2 * kBatches) return {};
  const std::span all(losses);
  const float first = mean(all.first(kBatches)), last = mean(all.last(kBatches));
  fmt::print("mean loss of the first {0} steps {1:.5f}, of the last {0} {2:.5f}\n", kBatches, first,
             last);
  if (last < first / 2) {
    fmt::print("the loss falls\n");
    return {};
  }
  return error(StatusCode::Malformed,
               fmt::format("The loss does not fall to half ({} to {}).", first, last));
}

void print_profile(const std::vector<GraphNodeProfile>& profile) {
  const double origin = std::ranges::min(profile, {}, &GraphNodeProfile::start_ns).start_ns;
  fmt::print("\nthe last step:\n");
  for (const GraphNodeProfile& node : profile)
    fmt::print("  {:5} {:16} {:>10.2f} us to {:>10.2f} us\n", to_string(node.queue), node.name,
               (node.start_ns - origin) / 1e3, (node.end_ns - origin) / 1e3);
}

Result<> write_timeline(const std::string& path, const std::vector<GraphNodeProfile>& profile) {
  std::ofstream file(path);
  file << timeline_json({{{.name = "last step", .nodes = profile}}});
  file.close();
  if (file) return {};
  return error(StatusCode::System, fmt::format("The timeline can't be written ({}).", path));
}

Result<> run(const Options& options) {
  DOPPEL_ASSIGN(const auto gpu, open_device(options.backend));
  DOPPEL_ASSIGN(
      const Program program,
      gpu->load_program(fmt::format("{}/train_tiny.{}.co", DOPPEL_KERNEL_DIR, gpu->target().name)));
  Prng prng(2026);
  const Dataset data = make_dataset(prng);
  Model expected = make_model(prng);

  Trainer trainer(*gpu, program);
  DOPPEL_TRY(trainer.prepare(data, expected, options));
  fmt::print("{} ({}), executor {}\n", gpu->info().marketing_name, gpu->target().name,
             trainer.executor());
  for (uint32_t step = 0; step < options.steps; ++step) DOPPEL_TRY(trainer.step(step));
  DOPPEL_ASSIGN(const Floats losses, trainer.finish());

  Floats expected_losses;
  for (uint32_t step = 0; step < options.steps; ++step) {
    const uint32_t first = step % kBatches * kBatch;
    expected_losses.push_back(
        step_on_cpu(expected, &data.inputs[first * kInputs], &data.targets[first], rate_of(step)));
  }
  for (uint32_t step = 0; step < options.steps; step += 10)
    fmt::print("step {:4}  loss {:.5f}\n", step, losses[step]);
  DOPPEL_ASSIGN(const Model actual, trainer.weights());
  DOPPEL_TRY(compare("loss of step", losses, expected_losses));
  DOPPEL_TRY(compare("hidden weight", actual.hidden_weights, expected.hidden_weights));
  DOPPEL_TRY(compare("output weight", actual.output_weights, expected.output_weights));
  fmt::print("all losses and weights equal the CPU's\n");
  DOPPEL_TRY(check_that_it_learns(losses));
  if (!options.profile) return {};
  DOPPEL_ASSIGN(const auto profile, trainer.profile());
  print_profile(profile);
  return options.timeline.empty() ? Result<>() : write_timeline(options.timeline, profile);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a tiny model through one graph, launched for every step");
  app.add_option("--backend", options.backend, "Device to open: mock:<gfx target> or kfd:<index>")
      ->capture_default_str();
  app.add_option("--executor", options.executor, "How the graph uses the hardware")
      ->capture_default_str()
      ->check(CLI::IsMember(kExecutors));
  app.add_option("--steps", options.steps, "Launches")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1u << 20));
  app.add_flag("--profile", options.profile, "Show when each node of the last step ran");
  app.add_option("--timeline", options.timeline, "Write that to a file for ui.perfetto.dev");
  CLI11_PARSE(app, argc, argv);
  options.profile |= !options.timeline.empty();
  if (options.backend == "kfd") options.backend = "kfd:0";
  if (options.backend == "mock") options.backend = "mock:gfx1100";
  if (const Result<> outcome = run(options); !outcome) {
    fmt::print(stderr, "train_tiny: {}\n", outcome.error().to_string());
    return 1;
  }
  return 0;
}
