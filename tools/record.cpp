// doppel record -o FILE -- COMMAND: runs a program that uses doppel's runtime, and traces what it
// does with its GPUs.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/named_machine.h"
#include "tools/commands.h"
#include "tools/run/launch.h"

namespace doppel::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecordExamples = R"(Examples:
  doppel record -o demo.dpl -- graph_demo --backend kfd:0     on a card
  doppel record -o demo.dpl -- graph_demo                     on the emulator
  doppel run -- doppel record -o demo.dpl -- graph_demo --backend kfd:0
                                                              through system calls, without a card
  doppel replay demo.dpl --compare
The program opens its GPUs with doppel::open_device() or open_devices(), in one process; of several
machines the first is traced. In code, capture::CaptureKernel traces any KernelAbi.
Exit status: the program's; 1 if it opened no GPU, 127 if it can't be started.)";

struct RecordOptions {
  std::string path;
  std::vector<std::string> command;
};

/// The program's exit status, as shells have it.
int run_to_the_end(const std::vector<std::string>& command) {
  const pid_t child = fork();
  if (child < 0) {
    fmt::print(stderr, "doppel record: No process can be started ({}).\n", std::strerror(errno));
    return 1;
  }
  if (child == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    fmt::print(stderr, "doppel record: The command can't be started ({}): {}.\n", arguments[0],
               std::strerror(errno));
    _exit(kNotFound);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_record(const RecordOptions& options) {
  std::error_code failure;
  const std::string path = fs::absolute(options.path, failure).string();
  fs::remove(path, failure);
  setenv(kTraceVariable.data(), path.c_str(), 1);
  const int status = run_to_the_end(options.command);
  if (status != 0 || fs::exists(path, failure)) return status;
  fmt::print(stderr,
             "doppel record: The program has opened no GPU through doppel's runtime ({}).\n",
             options.command[0]);
  return 1;
}

}  // namespace

void add_record(CLI::App& app, int& status) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command = app.add_subcommand("record", "Trace what a program does with its GPUs");
  command->footer(kRecordExamples);
  command->add_option("-o,--output", options->path, "The trace")->required();
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = run_record(*options); });
}

}  // namespace doppel::tools
