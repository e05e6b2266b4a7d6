// A small pipeline over three hardware queues of one GPU, ordered by signals alone:
//
//   SDMA   copy x, y to VRAM --+                                        +-- copy z, sums back
//   PM4                        +-- saxpy -- blur --+                    |
//   AQL                                            +-- saxpy, block_sums +
//
// The result is compared with the CPU's, bit for bit. The same program runs on the emulator
// (--backend mock:gfx1100, the default) and on a card (--backend kfd:0).
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "backends/open_device.h"
#include "core/packets/dump.h"
#include "core/prng.h"

using namespace doppel;

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr float kAlpha = 2.5f, kBeta = -0.75f;

struct Options {
  std::string backend = "mock:gfx1100";
  uint32_t count = 4 << 20;  // elements of a buffer: 16 MiB
};

/// What the pipeline makes of x and y.
struct Outcome {
  std::vector<float> z;
  std::vector<float> sums;
};

Outcome compute_on_cpu(const std::vector<float>& x, std::vector<float> y) {
  const size_t count = x.size();
  Outcome outcome{std::vector<float>(count), std::vector<float>((count + 255) / kWorkgroup)};
  for (size_t i = 0; i < count; ++i) y[i] = std::fma(kAlpha, x[i], y[i]);
  for (size_t i = 0; i < count; ++i) {
    const float left = y[i == 0 ? 0 : i - 1], right = y[i + 1 == count ? i : i + 1];
    outcome.z[i] = std::fma(0.25f, left + right, 0.5f * y[i]);
  }
  for (size_t i = 0; i < count; ++i) outcome.z[i] = std::fma(kBeta, x[i], outcome.z[i]);
  for (size_t group = 0; group < outcome.sums.size(); ++group) {
    float tile[kWorkgroup] = {};
    for (size_t lane = 0; lane < kWorkgroup && group * kWorkgroup + lane < count; ++lane)
      tile[lane] = outcome.z[group * kWorkgroup + lane];
    for (size_t step = kWorkgroup / 2; step > 0; step /= 2)
      for (size_t lane = 0; lane < step; ++lane) tile[lane] += tile[lane + step];
    outcome.sums[group] = tile[0];
  }
  return outcome;
}

/// Stages of the pipeline, each bracketed by the two timestamps of a signal of its own.
class Timeline {
 public:
  explicit Timeline(Device& device) : device_(device) {}

  Result<const Signal*> stage(std::string queue, std::string name) {
    DOPPEL_ASSIGN(Signal signal, device_.create_signal({.interrupt = false}));
    stages_.push_back(
        {std::move(queue), std::move(name), std::make_unique<Signal>(std::move(signal))});
    return stages_.back().signal.get();
  }

  Result<> print() const {
    DOPPEL_ASSIGN(const ClockFit fit, device_.clock_fit());
    fmt::print("\n  queue  command                        start         duration\n");
    const uint64_t origin = stages_.front().signal->start_ticks();
    for (const Stage& stage : stages_) {
      const uint64_t start = stage.signal->start_ticks(), end = stage.signal->end_ticks();
      fmt::print("  {:5}  {:26} {:>10.2f} us {:>10.2f} us\n", stage.queue, stage.name,
                 fit.duration_ns(origin, start) / 1e3, fit.duration_ns(start, end) / 1e3);
    }
    return {};
  }

 private:
  struct Stage {
    std::string queue;
    std::string name;
    std::unique_ptr<Signal> signal;
  };
  Device& device_;
  std::vector<Stage> stages_;
};

/// One launch between two timestamps.
Result<> timed_launch(ComputeCommands& commands, Timeline& timeline, const std::string& queue,
                      const Program& program, const std::string& name, const KernelArgs& arguments,
                      Dim3 grid) {
  DOPPEL_ASSIGN(const Signal* stage, timeline.stage(queue, name));
  commands.timestamp(*stage, Timestamp::Start)
      .exec(program.kernel(name), arguments, grid, kWorkgroup)
      .timestamp(*stage, Timestamp::End);
  return {};
}

Result<> timed_copy(SdmaCommands& commands, Timeline& timeline, const std::string& name,
                    const Allocation& source, const Allocation& destination) {
  DOPPEL_ASSIGN(const Signal* stage, timeline.stage("SDMA", name));
  commands.timestamp(*stage, Timestamp::Start)
      .copy(source, destination)
      .timestamp(*stage, Timestamp::End);
  return {};
}

template <class T>
Result<> compare(const char* what, std::span<const T> actual, const std::vector<T>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    return error(StatusCode::Malformed, fmt::format("{}[{}] is wrong (got {}, expected {}).", what,
                                                    i, actual[i], expected[i]));
  }
  return {};
}

Result<> run(const Options& options) {
  DOPPEL_ASSIGN(auto gpu, open_device(options.backend));
  const DeviceInfo& info = gpu->info();
  fmt::print("{} ({}, {} compute units, {} MiB VRAM) on {}\n", info.marketing_name,
             gpu->target().name, info.compute_units, info.vram_bytes >> 20, options.backend);
  DOPPEL_ASSIGN(
      const Program program,
      gpu->load_program(fmt::format("{}/pipeline.{}.co", DOPPEL_KERNEL_DIR, gpu->target().name)));

  const uint32_t count = options.count, groups = (count + kWorkgroup - 1) / kWorkgroup;
  const uint64_t bytes = uint64_t{count} * sizeof(float), sum_bytes = groups * sizeof(float);
  const AllocationOptions host_memory{.domain = MemoryDomain::Host, .coherent = true};
  DOPPEL_ASSIGN(const Allocation host_x, gpu->allocate(bytes, host_memory));
  DOPPEL_ASSIGN(const Allocation host_y, gpu->allocate(bytes, host_memory));
  DOPPEL_ASSIGN(const Allocation host_z, gpu->allocate(bytes, host_memory));
  DOPPEL_ASSIGN(const Allocation host_sums, gpu->allocate(sum_bytes, host_memory));
  DOPPEL_ASSIGN(const Allocation x, gpu->allocate(bytes));
  DOPPEL_ASSIGN(const Allocation y, gpu->allocate(bytes));
  DOPPEL_ASSIGN(const Allocation z, gpu->allocate(bytes));
  DOPPEL_ASSIGN(const Allocation sums, gpu->allocate(sum_bytes));
  Prng prng(2026);
  for (const Allocation* input : {&host_x, &host_y})
    for (float& value : input->host_as<float>())
      value = static_cast<float>(prng.below(2000)) / 1000.0f - 1.0f;

  DOPPEL_ASSIGN(const Signal uploaded, gpu->create_signal());
  DOPPEL_ASSIGN(const Signal blurred, gpu->create_signal());
  DOPPEL_ASSIGN(const Signal summed, gpu->create_signal());
  DOPPEL_ASSIGN(const Signal downloaded, gpu->create_signal());
  Timeline timeline(*gpu);

  SdmaCommands upload = gpu->sdma();
  DOPPEL_TRY(timed_copy(upload, timeline, "copy x to VRAM", host_x, x));
  DOPPEL_TRY(timed_copy(upload, timeline, "copy y to VRAM", host_y, y));
  upload.signal(uploaded, 1);

  ComputeCommands pm4 = gpu->compute();
  pm4.wait(uploaded, 1).memory_barrier();
  DOPPEL_TRY(
      timed_launch(pm4, timeline, "PM4", program, "saxpy", args(x, y, kAlpha, count), groups));
  DOPPEL_TRY(timed_launch(pm4, timeline, "PM4", program, "blur", args(y, z, count), groups));
  pm4.signal(blurred, 1);
  const std::string listing =
      packets::dump_stream(packets::Language::Pm4, pm4.stream().dwords(), gpu->target().family);

  ComputeCommands aql = gpu->aql();
  aql.wait(blurred, 1).memory_barrier();
  DOPPEL_TRY(
      timed_launch(aql, timeline, "AQL", program, "saxpy", args(x, z, kBeta, count), groups));
  DOPPEL_TRY(
      timed_launch(aql, timeline, "AQL", program, "block_sums", args(z, sums, count), groups));
  aql.signal(summed, 1);

  SdmaCommands download = gpu->sdma();
  download.wait(summed, 1);
  DOPPEL_TRY(timed_copy(download, timeline, "copy z back", z, host_z));
  DOPPEL_TRY(timed_copy(download, timeline, "copy sums back", sums, host_sums));
  download.signal(downloaded, 1);

  DOPPEL_TRY(upload.submit());
  DOPPEL_TRY(pm4.submit());
  DOPPEL_TRY(aql.submit());
  DOPPEL_TRY(download.submit());
  DOPPEL_TRY(downloaded.wait(1));

  fmt::print("\nThe PM4 queue's packets:\n\n{}", listing);
  DOPPEL_TRY(timeline.print());
  fmt::print("\n  signals: uploaded {}, blurred {}, summed {}, downloaded {}\n", uploaded.value(),
             blurred.value(), summed.value(), downloaded.value());

  const auto copy_of = [](const Allocation& allocation) {
    const auto values = allocation.host_as<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  std::vector<float> input_x = copy_of(host_x), input_y = copy_of(host_y);
  input_x.resize(count);
  input_y.resize(count);
  const Outcome expected = compute_on_cpu(input_x, std::move(input_y));
  DOPPEL_TRY(compare<float>("z", host_z.host_as<float>(), expected.z));
  DOPPEL_TRY(compare<float>("sums", host_sums.host_as<float>(), expected.sums));
  fmt::print("\nverified: {} elements through 4 kernels and 4 copies equal the CPU's\n", count);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a pipeline of copies and kernels over three queues and checks its result");
  app.add_option("--backend", options.backend, "Device to open: mock:<gfx target> or kfd:<index>")
      ->capture_default_str();
  app.add_option("--count", options.count, "Elements of a buffer")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1u << 28));
  CLI11_PARSE(app, argc, argv);
  if (options.backend == "kfd") options.backend = "kfd:0";
  if (options.backend == "mock") options.backend = "mock:gfx1100";
  if (const Result<> outcome = run(options); !outcome) {
    fmt::print(stderr, "graph_demo: {}\n", outcome.error().to_string());
    return 1;
  }
  return 0;
}
