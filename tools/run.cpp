// doppel run [--gpu MODEL] [--count N] [--seed S] -- COMMAND...: starts a program on emulated GPUs.
// The program runs in this very process (exec), with libdoppel_preload.so in front of libc.
#include <fmt/format.h>
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

#include "backends/mock/device_profile.h"
#include "tools/commands.h"
#include "tools/run/session.h"

namespace doppel::tools {
namespace {

// As shells have it.
constexpr int kUsageError = 2;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

struct Options {
  std::string gpu = "gfx1100";
  std::string count;
  std::string seed;
  std::string coverage_path;
  std::vector<std::string> command;
};

/// A model, or the file of a recorded machine, which the client may look for from elsewhere.
std::string machine_name(const std::string& gpu) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(gpu, failure)) return gpu;
  return "profile=" + std::filesystem::absolute(gpu, failure).string();
}

std::string specification(const Options& options) {
  std::string text = machine_name(options.gpu);
  if (!options.count.empty()) text += ",count=" + options.count;
  if (!options.seed.empty()) text += ",seed=" + options.seed;
  return text;
}

/// The library lies beside this program, in the build tree as where it is installed.
Result<std::string> find_preload_library() {
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const auto prefix = self.parent_path().parent_path();
  for (const char* place : {"lib", DOPPEL_INSTALL_LIBDIR}) {
    const auto path = prefix / place / "libdoppel_preload.so";
    if (std::filesystem::exists(path, failure)) return path.string();
  }
  return error(StatusCode::NotFound,
               fmt::format("libdoppel_preload.so is not beside the program ({}).", self.string()));
}

void prepend_preload(const std::string& library) {
  const char* existing = std::getenv("LD_PRELOAD");
  const std::string all =
      existing == nullptr || *existing == '\0' ? library : library + ":" + existing;
  setenv("LD_PRELOAD", all.c_str(), 1);
}

Result<> prepare(const Options& options) {
  const std::string gpu = specification(options);
  DOPPEL_TRY(mock::parse_machine(gpu));
  DOPPEL_ASSIGN(const std::string library, find_preload_library());
  DOPPEL_ASSIGN(const std::string directory, begin_session());
  prepend_preload(library);
  setenv("DOPPEL_GPU", gpu.c_str(), 1);
  setenv("DOPPEL_ROOT", directory.c_str(), 1);
  if (!options.coverage_path.empty()) {
    // The program may change its directory.
    setenv("DOPPEL_ISA_COVERAGE", std::filesystem::absolute(options.coverage_path).c_str(), 1);
  }
  return {};
}

int run(const Options& options) {
  if (auto ready = prepare(options); !ready) {
    fmt::print(stderr, "doppel run: {}\n", ready.error().message());
    return kUsageError;
  }
  std::vector<char*> arguments;
  for (const std::string& word : options.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int os_error = errno;
  fmt::print(stderr, "doppel run: The command can't be started ({}): {}.\n", arguments[0],
             std::strerror(os_error));
  return os_error == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a program on emulated GPUs");
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
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace doppel::tools
