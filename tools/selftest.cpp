// doppel selftest: brings a GPU up step by step and says what may be wrong where it fails.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "backends/named_machine.h"
#include "tools/commands.h"
#include "tools/selftest/selftest.h"

namespace doppel::tools {
namespace {

constexpr const char* kSelftestExamples = R"(Examples:
  doppel selftest --backend kfd              the first GPU of this machine
  doppel selftest --backend kfd --gpu 1      the second one
  doppel selftest --backend mock             two emulated gfx1100
  doppel selftest --backend mock:gfx1030,cu=8
  doppel run --count 2 -- doppel selftest --backend kfd
                                             the path of a real machine (system calls, libdrm)
                                             on emulated GPUs
  doppel selftest --list                     the steps
Exit status: 0 nothing failed, 1 a step failed, 2 the command line makes no sense.)";

constexpr const char* kDefaultMock = "mock:gfx1100,count=2";

struct SelftestOptions {
  std::string backend = "mock";
  uint32_t gpu = 0;
  bool json = false;
  bool list = false;
};

/// Whether the process's driver is the preloaded library's.
bool under_shim() {
  const char* preload = std::getenv("LD_PRELOAD");
  return preload != nullptr &&
         std::string_view(preload).find("libdoppel_preload.so") != std::string_view::npos;
}

std::string machine_of(const SelftestOptions& options) {
  return options.backend == "mock" ? kDefaultMock : options.backend;
}

int run_selftest(const SelftestOptions& options) {
  if (options.list) {
    for (const auto& [name, title] : selftest::step_names()) fmt::print("{:<16} {}\n", name, title);
    return 0;
  }
  const std::string machine = machine_of(options);
  auto kernel = open_named_kernel(machine);
  if (!kernel) {
    fmt::print(stderr, "doppel selftest: {}\n", kernel.error().to_string());
    return 2;
  }
  const selftest::Report report = selftest::run(
      *std::move(kernel),
      {.machine = machine, .emulated = machine != "kfd" || under_shim(), .gpu = options.gpu});
  fmt::print("{}", options.json ? report.to_json() + "\n" : report.to_text());
  return report.passed() ? 0 : 1;
}

}  // namespace

void add_selftest(CLI::App& app, int& status) {
  auto options = std::make_shared<SelftestOptions>();
  CLI::App* command =
      app.add_subcommand("selftest", "Bring a GPU up step by step; explain what fails");
  command->footer(kSelftestExamples);
  command->add_option("--backend", options->backend, "kfd, mock or mock:MODEL[,option=value]")
      ->capture_default_str();
  command->add_option("--gpu", options->gpu, "Which GPU of the machine")->capture_default_str();
  command->add_flag("--json", options->json, "The report as JSON");
  command->add_flag("--list", options->list, "Only name the steps");
  command->callback([options, &status] { status = run_selftest(*options); });
}

}  // namespace doppel::tools
