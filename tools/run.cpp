// doppel run [--gpu MODEL] [--count N] [--seed S] [--trace FILE] [--report FILE] -- COMMAND...:
// starts a program on emulated GPUs. The program runs in this very process (exec), with
// libdoppel_preload.so in front of libc.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/mock/device_profile.h"
#include "backends/report/process_report.h"
#include "core/device.h"
#include "core/errors.h"
#include "core/verify/suppression.h"
#include "core/verify/verify.h"
#include "tools/commands.h"
#include "tools/run/launch.h"
#include "tools/run/session.h"

namespace doppel::tools {
namespace {

constexpr const char* kRunExamples = R"(Examples:
  doppel run --gpu gfx1030 -- rocminfo             a program that knows nothing of doppel
  doppel run --gpu gfx1100,cu=8 --count 2 -- python3 train.py
  doppel run --verify all --findings out.sarif -- ./program
                                                   races, deadlocks, early frees: status 86
  doppel run --report run.html -- ./program        what it did, as a page
  doppel run --trace log.jsonl -- ./program        each ioctl, packet and dispatch)";

struct RunOptions {
  std::string gpu = "gfx1100";
  std::string count;
  std::string seed;
  std::string coverage_path;
  std::string trace;
  std::string summary;
  std::string faults;  // a file
  std::string checks;
  std::string suppressions;  // a file
  std::string findings;
  report::ReportFiles report;
  std::vector<std::string> command;
};

/// A model, or the file of a recorded machine, which the client may look for from elsewhere.
std::string model_of(const std::string& gpu) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(gpu, failure)) return gpu;
  return "profile=" + std::filesystem::absolute(gpu, failure).string();
}

std::string specification(const RunOptions& options) {
  std::string text = model_of(options.gpu);
  if (!options.count.empty()) text += ",count=" + options.count;
  if (!options.seed.empty()) text += ",seed=" + options.seed;
  // The program may change its directory.
  if (!options.faults.empty())
    text += ",faults=" + std::filesystem::absolute(options.faults).string();
  return text;
}

/// Refuses what the program's GPU would refuse later.
Result<> set_checks(const RunOptions& options) {
  if (options.checks.empty()) {
    if (options.suppressions.empty() && options.findings.empty()) return {};
    return invalid("There is nothing to suppress or to write without --verify.");
  }
  DOPPEL_TRY(Verify::parse(options.checks));
  setenv("DOPPEL_VERIFY", options.checks.c_str(), 1);
  if (!options.suppressions.empty()) {
    DOPPEL_ASSIGN(const auto bytes, read_file(options.suppressions));
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    DOPPEL_TRY(verify::Suppressions::parse(text));
    setenv("DOPPEL_SUPPRESSIONS", text.c_str(), 1);
  }
  return set_output("DOPPEL_FINDINGS", options.findings);
}

Result<> prepare(const RunOptions& options) {
  const std::string gpu = specification(options);
  DOPPEL_TRY(mock::parse_machine(gpu));
  DOPPEL_ASSIGN(const std::string library, find_library("libdoppel_preload.so"));
  DOPPEL_TRY(set_output("DOPPEL_TRACE", options.trace));
  DOPPEL_TRY(set_output("DOPPEL_SUMMARY", options.summary));
  DOPPEL_TRY(set_output("DOPPEL_ISA_COVERAGE", options.coverage_path));
  DOPPEL_TRY(set_output(report::kReportVariable, options.report.page));
  DOPPEL_TRY(set_output(report::kTimelineVariable, options.report.timeline));
  DOPPEL_TRY(set_checks(options));
  DOPPEL_ASSIGN(const std::string directory, begin_session());
  preload(library);
  setenv("DOPPEL_GPU", gpu.c_str(), 1);
  setenv("DOPPEL_ROOT", directory.c_str(), 1);
  return {};
}

int run_run(const RunOptions& options) {
  if (auto ready = prepare(options); !ready) {
    fmt::print(stderr, "doppel run: {}\n", ready.error().message());
    return kUsageError;
  }
  return become("run", options.command);
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a program on emulated GPUs");
  command->footer(kRunExamples);
  command
      ->add_option(
          "--gpu", options->gpu,
          "Model and settings, as in gfx1100,cu=8,vram=4GiB, or a file of `doppel profile dump`")
      ->capture_default_str();
  command->add_option("--count", options->count, "Number of GPUs (1 to 8)");
  command->add_option("--seed", options->seed, "Seed of the scheduler");
  command->add_option("--isa-coverage", options->coverage_path,
                      "Write which instructions were executed to this file when a program exits "
                      "(.json: JSON)");
  command->add_option("--trace", options->trace,
                      "File for ioctls, mappings, packets and dispatches, one JSON object a line");
  command->add_option("--summary", options->summary,
                      "File for what the GPUs did, one JSON object for each process");
  command->add_option(
      "--faults", options->faults,
      "Plan of what goes wrong, a fault a line, as in: ioctl AMDKFD_IOC_CREATE_QUEUE "
      "2 ENOMEM; mmap 1 EACCES; interrupt 3 lost");
  command->add_option("--verify", options->checks,
                      "Checks to run beside the program: all, or names after commas (see doppel "
                      "rules); findings make a program fail with status 86");
  command->add_option("--suppress", options->suppressions, "File of findings to silence")
      ->check(CLI::ExistingFile);
  command->add_option("--findings", options->findings,
                      "File for the findings (.json, .sarif, .xml for JUnit, else text)");
  command->add_option("--report", options->report.page,
                      "HTML file: findings, timeline, graph and counters of each kernel");
  command->add_option("--timeline", options->report.timeline,
                      "JSON file for https://ui.perfetto.dev: calls, packets, kernels, signals");
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = run_run(*options); });
}

}  // namespace doppel::tools
