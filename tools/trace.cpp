// doppel trace [--output FILE] -- COMMAND...: shows what a program asks of the amdgpu driver that
// is there, real or emulated: each ioctl as one JSON object a line (CallLog's format). The program
// runs in this very process, with libdoppel_trace.so in front of libc.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/run/launch.h"

namespace doppel::tools {
namespace {

constexpr const char* kTraceExamples = R"(Examples:
  doppel trace -- rocminfo                         what a program asks of the real driver
  doppel trace -o calls.jsonl -- ./program)";

struct TraceOptions {
  std::string output;
  std::vector<std::string> command;
};

Result<> prepare(const TraceOptions& options) {
  DOPPEL_ASSIGN(const std::string library, find_library("libdoppel_trace.so"));
  DOPPEL_TRY(set_output("DOPPEL_CALLS", options.output));
  preload(library);
  return {};
}

int trace(const TraceOptions& options) {
  if (auto ready = prepare(options); !ready) {
    fmt::print(stderr, "doppel trace: {}\n", ready.error().message());
    return kUsageError;
  }
  return become("trace", options.command);
}

}  // namespace

void add_trace(CLI::App& app, int& status) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* command = app.add_subcommand("trace", "Show a program's calls of the amdgpu driver");
  command->footer(kTraceExamples);
  command->add_option("-o,--output", options->output, "File to write; without, standard error");
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = trace(*options); });
}

}  // namespace doppel::tools
