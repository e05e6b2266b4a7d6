// doppel replay FILE: carries a trace out again, on the emulator or a card.
#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "backends/capture/replayer.h"
#include "backends/named_machine.h"
#include "tools/commands.h"

namespace doppel::tools {
namespace {

constexpr const char* kReplayExamples = R"(Examples:
  doppel replay demo.dpl                      on an emulated GPU like the one it was made on
  doppel replay demo.dpl --compare            and say where results differ first
  doppel replay demo.dpl --compare --backend kfd
  doppel replay demo.dpl --compare --move 0x100000000   with all addresses elsewhere
Exit status: 0 done (and equal), 1 results differ, 2 the trace can't be replayed.)";

struct ReplayOptions {
  std::string path;
  std::string backend;
  uint64_t move = 0;
  bool compare = false;
};

void print(const capture::ReplayReport& report, bool compared) {
  fmt::print("{} records: {} calls, {} submissions, {} bytes of memory{}\n", report.records,
             report.ioctls, report.submissions, report.memory_bytes,
             report.moved ? ", addresses moved" : "");
  if (!compared) return;
  if (!report.first) {
    fmt::print("{} bytes of results are equal; {} timestamps of signals differ\n",
               report.compared_bytes, report.timestamps);
    return;
  }
  const capture::ReplayDifference& first = *report.first;
  fmt::print(
      "{} runs of bytes differ, first {} bytes at {} (recorded {:#04x}, now {:#04x}),\n"
      "after submission {} (record {}):\n{}",
      report.differences, first.bytes, first.place, first.expected, first.got, first.submission,
      first.record, first.packets);
}

Result<bool> replay_file(const ReplayOptions& options) {
  std::ifstream file(options.path, std::ios::binary);
  DOPPEL_ASSIGN(capture::TraceReader trace, capture::TraceReader::open(file));
  DOPPEL_ASSIGN(const capture::StartRecord start, capture::read_start(trace));
  const std::string backend =
      options.backend.empty() ? capture::emulated_machine(start) : options.backend;
  DOPPEL_ASSIGN(auto kernel, open_named_kernel(backend));
  DOPPEL_ASSIGN(const capture::ReplayReport report,
                capture::replay(trace, std::move(kernel),
                                {.move = options.move, .compare = options.compare}));
  fmt::print("replay on {} of a trace made on {}\n", backend, start.machine);
  print(report, options.compare);
  return !report.first;
}

int run_replay(const ReplayOptions& options) {
  const auto equal = replay_file(options);
  if (!equal) {
    fmt::print(stderr, "doppel replay: {}\n", equal.error().to_string());
    return 2;
  }
  return *equal ? 0 : 1;
}

}  // namespace

void add_replay(CLI::App& app, int& status) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "Carry a trace out on the emulator or a card");
  command->footer(kReplayExamples);
  command->add_option("trace", options->path, "A file of `doppel record`")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--backend", options->backend,
                      "kfd or mock:MODEL[,option=value]; by default as in the trace");
  command->add_option("--move", options->move, "Add this to every address (a multiple of 4096)");
  command->add_flag("--compare", options->compare, "Compare the results with the recorded ones");
  command->callback([options, &status] { status = run_replay(*options); });
}

}  // namespace doppel::tools
