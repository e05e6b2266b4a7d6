// doppel selftest: brings a GPU up step by step and says what may be wrong where it fails.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "backends/kfd/linux_kernel.h"
#include "backends/mock/device_profile.h"
#include "backends/mock/virtual_kernel.h"
#include "backends/named_machine.h"
#include "tools/commands.h"
#include "tools/selftest/selftest.h"

namespace doppel::tools {
namespace {

constexpr const char* kExamples = R"(Examples:
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

struct Options {
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

struct Driver {
  std::shared_ptr<kfd::KernelAbi> kernel;
  selftest::Options options;
};

Result<Driver> choose_driver(const Options& options) {
  if (options.backend == "kfd") {
    return Driver{std::make_shared<kfd::LinuxKernel>(),
                  {.machine = "kfd", .emulated = under_shim(), .gpu = options.gpu}};
  }
  const std::string machine = options.backend == "mock" ? kDefaultMock : options.backend;
  if (!machine.starts_with(kMockPrefix)) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The backend ({}) is neither kfd nor mock[:MODEL[,option=value]].",
                             options.backend));
  }
  DOPPEL_ASSIGN(mock::MachineProfile profile, mock::parse_machine(machine));
  DOPPEL_ASSIGN(std::shared_ptr<kfd::KernelAbi> kernel,
                mock::VirtualKernel::create(std::move(profile)));
  return Driver{std::move(kernel), {.machine = machine, .emulated = true, .gpu = options.gpu}};
}

int run(const Options& options) {
  if (options.list) {
    for (const auto& [name, title] : selftest::step_names()) fmt::print("{:<16} {}\n", name, title);
    return 0;
  }
  auto driver = choose_driver(options);
  if (!driver) {
    fmt::print(stderr, "doppel selftest: {}\n", driver.error().to_string());
    return 2;
  }
  const selftest::Report report = selftest::run(std::move(driver->kernel), driver->options);
  fmt::print("{}", options.json ? report.to_json() + "\n" : report.to_text());
  return report.passed() ? 0 : 1;
}

}  // namespace

void add_selftest(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("selftest", "Bring a GPU up step by step; explain what fails");
  command->footer(kExamples);
  command->add_option("--backend", options->backend, "kfd, mock or mock:MODEL[,option=value]")
      ->capture_default_str();
  command->add_option("--gpu", options->gpu, "Which GPU of the machine")->capture_default_str();
  command->add_flag("--json", options->json, "The report as JSON");
  command->add_flag("--list", options->list, "Only name the steps");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace doppel::tools
