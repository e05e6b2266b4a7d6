// doppel report TRACE -o PAGE: what a trace's GPUs do, as a page and as a timeline. The trace is
// carried out again on an emulated machine that is watched.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "backends/capture/replayer.h"
#include "backends/mock/virtual_kernel.h"
#include "backends/named_machine.h"
#include "backends/report/process_report.h"
#include "backends/report/reporting_kernel.h"
#include "tools/commands.h"

namespace doppel::tools {
namespace {

constexpr const char* kReportExamples = R"(Examples:
  doppel record -o demo.dpl -- graph_demo
  doppel report demo.dpl -o demo.html             open it in a browser; it needs nothing else
  doppel report demo.dpl --timeline demo.json     for https://ui.perfetto.dev
  doppel run --report page.html -- COMMAND        of a program as it runs, unmodified
A trace holds each submission until the GPUs rest, so that queues never overlap in its report.
Exit status: 0 done, 1 the run has findings, faults or stalls, 2 there is no report.)";

struct ReportOptions {
  std::string trace;
  report::ReportFiles files;
  std::string backend;
  bool no_counters = false;
};

Result<std::shared_ptr<mock::VirtualKernel>> open_machine(const std::string& name) {
  if (!name.starts_with(kMockPrefix)) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("Only emulated machines can be watched ({}).", name));
  }
  DOPPEL_ASSIGN(mock::MachineProfile profile, mock::parse_machine(name));
  return mock::VirtualKernel::create(std::move(profile));
}

/// Whether nothing is wrong with the run.
Result<bool> report_trace(const ReportOptions& options) {
  std::ifstream file(options.trace, std::ios::binary);
  DOPPEL_ASSIGN(capture::TraceReader trace, capture::TraceReader::open(file));
  DOPPEL_ASSIGN(const capture::StartRecord start, capture::read_start(trace));
  DOPPEL_ASSIGN(
      auto machine,
      open_machine(options.backend.empty() ? capture::emulated_machine(start) : options.backend));
  report::MachineReport report(*machine, std::filesystem::path(options.trace).filename().string(),
                               !options.no_counters && options.files.shows_counters());
  auto kernel = std::make_shared<report::ReportingKernel>(machine, report.recorder());
  DOPPEL_TRY(capture::replay(trace, std::move(kernel), {.compare = false}));
  const report::Run& run = report.run();
  DOPPEL_TRY(report::write_report(options.files, run));
  fmt::print("{} pieces of work, {} edges, {} kernels, {} findings, {} faults\n", run.nodes.size(),
             run.edges.size(), run.kernels.size(), run.findings.size(), run.faults.size());
  return run.findings.empty() && run.faults.empty() && run.stalls.empty();
}

int run_report(const ReportOptions& options) {
  const auto good = report_trace(options);
  if (!good) {
    fmt::print(stderr, "doppel report: {}\n", good.error().to_string());
    return 2;
  }
  return *good ? 0 : 1;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Show what a trace's GPUs do, as a page");
  command->footer(kReportExamples);
  command->add_option("trace", options->trace, "A file of `doppel record`")
      ->required()
      ->check(CLI::ExistingFile);
  CLI::Option_group* outputs = command->add_option_group("output", "What to write");
  outputs->add_option("-o,--output", options->files.page, "The page, HTML");
  outputs->add_option("--timeline", options->files.timeline, "Chrome's and Perfetto's JSON");
  outputs->require_option(1, 2);
  command->add_option("--backend", options->backend,
                      "mock:MODEL[,option=value]; by default as in the trace");
  command->add_flag("--no-counters", options->no_counters, "Leave the kernels' counters out");
  command->callback([options, &status] { status = run_report(*options); });
}

}  // namespace doppel::tools
