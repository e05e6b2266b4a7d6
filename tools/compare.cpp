// doppel compare LEFT RIGHT: the same graphs on two machines, side by side.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/compare/comparison.h"

namespace doppel::tools {
namespace {

using namespace doppel::compare;

constexpr const char* kCompareExamples = R"(Examples:
  doppel compare kfd mock:gfx1100             a card and its double
  doppel compare kfd mock:profile=card.json   with the card's own topology (doppel profile dump)
  doppel compare mock:gfx1100 mock:gfx1030 --graph pipeline
  doppel run -- doppel compare kfd mock       without a card: the code for real machines on
                                              emulated GPUs, beside the one in process
Memory, signals and packet streams must agree; addresses are taken relative to their allocations.
Timings stand side by side and prove nothing: the emulator's clock is not a card's.
Exit status: 0 equal, 1 different, 2 a machine can't run it.)";

struct CompareOptions {
  std::string left;
  std::string right;
  std::string graph;
  std::string executor = "pm4";
  uint32_t gpu = 0;
  bool json = false;
};

std::string device_of(const std::string& name) {
  return name == "mock" ? "mock:gfx1100" : name;
}

Result<bool> compare_on(TrialMachine& left_machine, TrialMachine& right_machine,
                        const Workload& workload, const CompareOptions& options) {
  const GraphExecutor executor =
      options.executor == "aql" ? GraphExecutor::Aql : GraphExecutor::Pm4Sdma;
  DOPPEL_ASSIGN(const Trial left, left_machine.run(workload, executor));
  DOPPEL_ASSIGN(const Trial right, right_machine.run(workload, executor));
  const Comparison comparison = compare::compare(left, right);
  if (options.json) {
    fmt::print("{}\n", to_json(comparison, left, right));
  } else {
    fmt::print("graph {}: {}\n{}\n", workload.name, workload.what,
               to_text(comparison, left, right));
  }
  return comparison.equal();
}

/// Whether the two agree in all graphs that are asked for.
Result<bool> compare_all(const CompareOptions& options) {
  DOPPEL_ASSIGN(TrialMachine left, TrialMachine::open(device_of(options.left), options.gpu));
  DOPPEL_ASSIGN(TrialMachine right, TrialMachine::open(device_of(options.right), options.gpu));
  bool equal = true, found = false;
  for (const Workload& workload : workloads()) {
    if (!options.graph.empty() && options.graph != workload.name) continue;
    found = true;
    DOPPEL_ASSIGN(const bool agreed, compare_on(left, right, workload, options));
    equal &= agreed;
  }
  if (found) return equal;
  return error(StatusCode::NotFound, fmt::format("There is no such graph ({}).", options.graph));
}

int run_compare(const CompareOptions& options) {
  const auto equal = compare_all(options);
  if (!equal) {
    fmt::print(stderr, "doppel compare: {}\n", equal.error().to_string());
    return 2;
  }
  return *equal ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "Run the same graphs on two machines");
  command->footer(kCompareExamples);
  command->add_option("left", options->left, "kfd, mock or mock:MODEL[,option=value]")->required();
  command->add_option("right", options->right, "Likewise")->required();
  command->add_option("--graph", options->graph, "pipeline, diamond or transfer; by default all");
  command->add_option("--executor", options->executor, "What runs the graphs")
      ->check(CLI::IsMember({"pm4", "aql"}))
      ->capture_default_str();
  command->add_option("--gpu", options->gpu, "Which GPU of each machine")->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object a graph");
  command->callback([options, &status] { status = run_compare(*options); });
}

}  // namespace doppel::tools
