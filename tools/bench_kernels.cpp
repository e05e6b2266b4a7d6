// doppel bench-kernels PATH: times captured kernels, checking what they compute.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/isa/coverage.h"
#include "emulator/isa/handlers.h"
#include "tools/commands.h"
#include "tools/vectors/replay.h"
#include "tools/vectors/vector_set.h"

namespace doppel::tools {
namespace {

constexpr const char* kBenchKernelsExamples = R"(Examples:
  doppel bench-kernels vectors/kernels             each kernel, and the total
  doppel bench-kernels vectors/kernels --filter softmax
  doppel bench-kernels vectors/kernels --level v3  as if the machine had AVX2 and no AVX-512)";

using Json = nlohmann::json;
using namespace doppel::vectors;

class SteadyClock final : public Clock {
 public:
  uint64_t now_ns() const override {
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
  }
};

// What the interpreter "remu" (tinygrad's former one, in Rust) takes for the captured set on one
// core of the machine it was captured on: the yardstick of the speed goals.
struct ReferenceTime {
  std::string_view kernel;
  double milliseconds;
};
constexpr std::array kRemu = {
    ReferenceTime{"add_1m_0", 218},           ReferenceTime{"matmul_256_f32_0", 956},
    ReferenceTime{"softmax_512x512_0", 53},   ReferenceTime{"matmul_256_f16_wmma_0", 103},
    ReferenceTime{"softmax_512x512_2", 178},  ReferenceTime{"sum_1m_0", 71},
    ReferenceTime{"exp_64k_0", 29},           ReferenceTime{"max_rows_256x1024_0", 42},
    ReferenceTime{"sin_64k_0", 996},          ReferenceTime{"gelu_64k_0", 40},
    ReferenceTime{"div_64k_0", 16},           ReferenceTime{"bitops_64k_0", 24},
    ReferenceTime{"f64_mul_add_32k_0", 9},    ReferenceTime{"f16_mul_add_64k_0", 15},
    ReferenceTime{"cumsum_4096_0", 291},      ReferenceTime{"cumsum_4096_2", 1.2},
    ReferenceTime{"layernorm_64x512_0", 3.5}, ReferenceTime{"layernorm_64x512_2", 12},
    ReferenceTime{"transpose_512_0", 76},     ReferenceTime{"where_64k_0", 19},
};

std::optional<double> remu_seconds(std::string_view kernel) {
  const auto* row = std::ranges::find(kRemu, kernel, &ReferenceTime::kernel);
  if (row == kRemu.end()) return std::nullopt;
  return row->milliseconds * 1e-3;
}

struct BenchKernelsOptions {
  std::string path;
  std::string filter;
  std::string json_path;
  uint32_t workers = 1;
  uint32_t repeat = 3;
  std::optional<isa::Level> level;  // the best that the CPU has
  std::string coverage_path;
};

struct Total {
  uint64_t instructions = 0;
  double seconds = 0;
  double remu_seconds = 0;  // over kernels that have a reference,
  double own_seconds = 0;   // and our time for these
  uint32_t failed = 0;
};

std::string rate(uint64_t instructions, double seconds) {
  return fmt::format("{:.2f}", static_cast<double>(instructions) / seconds * 1e-6);
}

void print_header() {
  fmt::print("{:<24} {:>12} {:>10} {:>12} {:>9}  {}\n", "kernel", "wave-insts", "ms", "M wave-i/s",
             "x remu", "outputs");
}

// One kernel: a line of text, and its row.
Json bench(const CapturedKernel& kernel, const BenchKernelsOptions& options,
           isa::Coverage* coverage, Total& total) {
  const SteadyClock clock;
  const KernelOutcome outcome = replay(kernel, {.workers = options.workers,
                                                .repeat = options.repeat,
                                                .clock = &clock,
                                                .coverage = coverage});
  Json row = {{"kernel", kernel.name}, {"outputs_match", outcome.passed()}};
  if (!outcome.passed()) {
    ++total.failed;
    const std::string why = outcome.fault
                                ? outcome.fault->to_string()
                                : fmt::format("buffer {} byte {}: expected 0x{:08x}, got 0x{:08x}",
                                              outcome.mismatch->buffer, outcome.mismatch->offset,
                                              outcome.mismatch->expected, outcome.mismatch->got);
    fmt::print("{:<24} FAIL {}\n", kernel.name, why);
    row["why"] = why;
    return row;
  }
  const double best = std::ranges::min(outcome.seconds);
  const uint64_t instructions = outcome.counters.wave_instructions;
  const auto reference = remu_seconds(kernel.name);
  total.instructions += instructions;
  total.seconds += best;
  if (reference) {
    total.remu_seconds += *reference;
    total.own_seconds += best;
    row["times_remu"] = *reference / best;
  }
  row["wave_instructions"] = instructions;
  row["captured_wave_instructions"] = kernel.wave_instructions;
  row["seconds"] = best;
  row["all_seconds"] = outcome.seconds;
  row["wave_instructions_per_second"] = static_cast<double>(instructions) / best;
  fmt::print("{:<24} {:>12} {:>10.3f} {:>12} {:>9}  match\n", kernel.name, instructions, best * 1e3,
             rate(instructions, best), reference ? fmt::format("{:.1f}", *reference / best) : "-");
  return row;
}

int run_bench_kernels(const BenchKernelsOptions& options) {
  if (options.level && !isa::has_level(*options.level)) {
    fmt::print(stderr,
               "doppel bench-kernels: The level isn't built in, or this CPU lacks it ({}).\n",
               isa::to_string(*options.level));
    return 2;
  }
  isa::choose_level(options.level);
  auto sets = load_vector_sets(options.path);
  if (!sets) {
    fmt::print(stderr, "doppel bench-kernels: {}\n", sets.error().to_string());
    return 2;
  }
  isa::Coverage coverage;
  Total total;
  Json rows = Json::array();
  print_header();
  for (const VectorSet& set : *sets) {
    const auto* kernels = std::get_if<std::vector<CapturedKernel>>(&set.content);
    if (kernels == nullptr) continue;
    for (const CapturedKernel& kernel : *kernels) {
      if (kernel.name.find(options.filter) == std::string::npos) continue;
      rows.push_back(
          bench(kernel, options, options.coverage_path.empty() ? nullptr : &coverage, total));
    }
  }
  if (rows.empty()) {
    fmt::print(stderr, "doppel bench-kernels: No captured kernel is selected ({}).\n",
               options.path);
    return 2;
  }
  const double ratio = total.own_seconds == 0 ? 0 : total.remu_seconds / total.own_seconds;
  if (total.seconds > 0) {
    fmt::print("{:<24} {:>12} {:>10.3f} {:>12} {:>9.1f}  {}\n", "total", total.instructions,
               total.seconds * 1e3, rate(total.instructions, total.seconds), ratio,
               total.failed == 0 ? "all match" : fmt::format("{} fail", total.failed));
  }
  if (!options.json_path.empty()) {
    const Json report = {{"level", isa::to_string(isa::best_level())},
                         {"workers", options.workers},
                         {"repeat", options.repeat},
                         {"kernels", rows},
                         {"wave_instructions", total.instructions},
                         {"seconds", total.seconds},
                         {"times_remu", ratio},
                         {"failed", total.failed}};
    std::ofstream file(options.json_path);
    file << report.dump(1) << '\n';
    if (!file.flush()) {
      fmt::print(stderr, "doppel bench-kernels: The file can't be written ({}).\n",
                 options.json_path);
      return 2;
    }
  }
  if (!options.coverage_path.empty()) {
    if (auto written = coverage.write(options.coverage_path); !written) {
      fmt::print(stderr, "doppel bench-kernels: {}\n", written.error().message());
      return 2;
    }
  }
  return total.failed == 0 ? 0 : 1;
}

}  // namespace

void add_bench_kernels(CLI::App& app, int& status) {
  auto options = std::make_shared<BenchKernelsOptions>();
  CLI::App* command =
      app.add_subcommand("bench-kernels", "Time captured kernels and check their outputs");
  command->footer(kBenchKernelsExamples);
  command->add_option("path", options->path, "Folder of captured kernels")->required();
  command->add_option("--filter", options->filter, "Only kernels whose name contains this");
  command->add_option("--workers", options->workers, "Host threads that run workgroups")
      ->check(CLI::Range(1, 256));
  command->add_option("--repeat", options->repeat, "Launches of each kernel; the best counts")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--level", options->level, "The interpreter's x86-64 level")
      ->transform(CLI::CheckedTransformer(std::map<std::string, isa::Level>{
          {"v2", isa::Level::V2}, {"v3", isa::Level::V3}, {"v4", isa::Level::V4}}))
      ->option_text("v2, v3 or v4");
  command->add_option("--isa-coverage", options->coverage_path, kCoverageHelp);
  command->add_option("--json", options->json_path, "Also write the figures to this file");
  command->callback([options, &status] { status = run_bench_kernels(*options); });
}

}  // namespace doppel::tools
