// doppel vectors PATH...: replays sets of cases with known results and says which of them fail.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/isa/coverage.h"
#include "emulator/isa/encoding.h"
#include "tools/commands.h"
#include "tools/vectors/instruction_text.h"
#include "tools/vectors/replay.h"
#include "tools/vectors/vector_set.h"

namespace doppel::tools {
namespace {

constexpr const char* kVectorsExamples = R"(Examples:
  doppel vectors vectors/isa vectors/kernels       N passed, M failed; each failure explained)";

using Json = nlohmann::json;
using namespace doppel::vectors;

struct VectorsOptions {
  std::vector<std::string> paths;
  std::string filter;
  std::string json_path;
  uint32_t workers = 1;
  bool hardware_only = false;
  std::string coverage_path;
};

class Replayer {
 public:
  Replayer(const VectorsOptions& options, isa::Coverage* coverage)
      : options_(options), coverage_(coverage) {}

  void run(const VectorSet& set) {
    const std::string set_name = set.path.filename().string();
    std::visit([&](const auto& cases) { run_all(set_name, cases); }, set.content);
  }

  uint32_t passed() const { return passed_; }
  uint32_t failed() const { return failed_; }
  /// Failed cases of targets whose instructions have no rows, by target.
  const std::map<std::string, uint32_t>& not_executed() const { return not_executed_; }

  Json to_json() const { return {{"passed", passed_}, {"failed", failed_}, {"cases", results_}}; }

 private:
  template <class Case>
  void run_all(const std::string& set_name, const std::vector<Case>& cases) {
    for (const Case& one : cases) {
      if (wanted(one)) run_one(set_name, one);
    }
  }

  bool wanted(const IsaCase& isa_case) const {
    if (options_.hardware_only && !isa_case.hardware_checked()) return false;
    return matches(label(isa_case));
  }
  bool wanted(const CapturedKernel& kernel) const {
    return !options_.hardware_only && matches(kernel.name);
  }
  bool matches(std::string_view name) const {
    return options_.filter.empty() || name.find(options_.filter) != std::string_view::npos;
  }

  static std::string label(const IsaCase& isa_case) {
    return fmt::format("{} {}", isa_case.id, isa_case.name);
  }

  void run_one(const std::string& set_name, const IsaCase& isa_case) {
    const CaseOutcome outcome = replay(isa_case, coverage_);
    Json row = {{"set", set_name}, {"id", isa_case.id}, {"name", isa_case.name}};
    std::string why;
    if (outcome.fault) {
      why = outcome.fault->to_string();
    } else if (outcome.mismatch) {
      const Mismatch& mismatch = *outcome.mismatch;
      why =
          fmt::format("{}: expected 0x{:08x}, got 0x{:08x}{}{}", mismatch.where, mismatch.expected,
                      mismatch.got, mismatch.hardware_checked ? " (checked on hardware)" : "",
                      also(mismatch.others));
      row["where"] = mismatch.where;
      row["expected"] = mismatch.expected;
      row["got"] = mismatch.got;
    }
    std::string instructions;
    if (!outcome.passed()) instructions = instruction_text(isa_case, outcome.target);
    if (outcome.target != nullptr && isa::encodings(outcome.target->family).empty()) {
      ++not_executed_[std::string(outcome.target->name)];
    }
    record(std::move(row), set_name, label(isa_case), instructions, why);
  }

  void run_one(const std::string& set_name, const CapturedKernel& kernel) {
    const KernelOutcome outcome =
        replay(kernel,
               {.workers = options_.workers, .repeat = 1, .clock = nullptr, .coverage = coverage_});
    Json row = {{"set", set_name}, {"name", kernel.name}};
    std::string why;
    if (outcome.fault) {
      why = outcome.fault->to_string();
    } else if (outcome.mismatch) {
      const BufferMismatch& mismatch = *outcome.mismatch;
      why = fmt::format("buffer {} byte {}: expected 0x{:08x}, got 0x{:08x}{}", mismatch.buffer,
                        mismatch.offset, mismatch.expected, mismatch.got, also(mismatch.others));
      row["where"] = fmt::format("buffer {} byte {}", mismatch.buffer, mismatch.offset);
      row["expected"] = mismatch.expected;
      row["got"] = mismatch.got;
    }
    record(std::move(row), set_name, kernel.name, "", why);
  }

  static std::string also(uint64_t others) {
    return others == 0 ? "" : fmt::format(", and {} more dwords", others);
  }

  // `why` is empty for a case that passed.
  void record(Json row, const std::string& set_name, const std::string& name,
              const std::string& instructions, const std::string& why) {
    row["passed"] = why.empty();
    if (why.empty()) {
      ++passed_;
    } else {
      ++failed_;
      row["why"] = why;
      row["instructions"] = instructions;
      fmt::print("FAIL {}: {}{}{}\n  {}\n", set_name, name, instructions.empty() ? "" : ": ",
                 instructions, std::string_view(why).substr(0, why.find_last_not_of('\n') + 1));
    }
    results_.push_back(std::move(row));
  }

  const VectorsOptions& options_;
  isa::Coverage* coverage_;
  uint32_t passed_ = 0;
  uint32_t failed_ = 0;
  std::map<std::string, uint32_t> not_executed_;
  Json results_ = Json::array();
};

int run_vectors(const VectorsOptions& options) {
  isa::Coverage coverage;
  Replayer replayer(options, options.coverage_path.empty() ? nullptr : &coverage);
  for (const std::string& path : options.paths) {
    auto sets = load_vector_sets(path);
    if (!sets) {
      fmt::print(stderr, "doppel vectors: {}\n", sets.error().to_string());
      return 2;
    }
    for (const VectorSet& set : *sets) replayer.run(set);
  }
  if (!options.json_path.empty()) {
    std::ofstream file(options.json_path);
    file << replayer.to_json().dump(1) << '\n';
    if (!file.flush()) {
      fmt::print(stderr, "doppel vectors: The file can't be written ({}).\n", options.json_path);
      return 2;
    }
  }
  if (!options.coverage_path.empty()) {
    if (auto written = coverage.write(options.coverage_path); !written) {
      fmt::print(stderr, "doppel vectors: {}\n", written.error().message());
      return 2;
    }
  }
  for (const auto& [target, cases] : replayer.not_executed()) {
    fmt::print("{} of the failed cases are for {}, whose instructions are not executed\n", cases,
               target);
  }
  fmt::print("{} passed, {} failed\n", replayer.passed(), replayer.failed());
  if (replayer.passed() + replayer.failed() == 0) {
    fmt::print(stderr, "doppel vectors: The files hold no cases.\n");
    return 2;
  }
  return replayer.failed() == 0 ? 0 : 1;
}

}  // namespace

void add_vectors(CLI::App& app, int& status) {
  auto options = std::make_shared<VectorsOptions>();
  CLI::App* command = app.add_subcommand(
      "vectors", "Replay sets of instruction cases and captured kernels with known results");
  command->footer(kVectorsExamples);
  command->add_option("path", options->paths, "Case files, kernel folders, or folders of these")
      ->required();
  command->add_option("--filter", options->filter, "Only cases whose id and name contain this");
  command->add_option("--json", options->json_path, "Also write every result to this file");
  command->add_option("--workers", options->workers, "Host threads for captured kernels")
      ->check(CLI::Range(1, 256));
  command->add_option("--isa-coverage", options->coverage_path, kCoverageHelp);
  command->add_flag("--hardware", options->hardware_only,
                    "Only instruction cases that real hardware has confirmed");
  command->callback([options, &status] { status = run_vectors(*options); });
}

}  // namespace doppel::tools
