// doppel profile dump: a machine's topology and driver answers as a file, for the emulator.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "backends/mock/persona.h"
#include "backends/named_machine.h"
#include "tools/commands.h"

namespace doppel::tools {
namespace {

constexpr const char* kProfileExamples = R"(Examples:
  doppel profile dump -o card.json               this machine, through /dev/kfd
  doppel run --gpu card.json -- rocminfo         its software, on the emulator
  doppel selftest --backend mock:profile=card.json
  doppel profile dump --backend mock:gfx1030,count=2
The file has what sysfs and the drivers say: no serial numbers but the GPUs' unique_id.)";

struct ProfileOptions {
  std::string backend = "kfd";
  std::string path;
};

Result<> dump(const ProfileOptions& options) {
  DOPPEL_ASSIGN(const auto kernel, open_named_kernel(options.backend));
  DOPPEL_ASSIGN(const mock::Persona persona, mock::record_persona(*kernel, options.backend));
  const std::string json = mock::to_json(persona);
  if (options.path.empty()) {
    fmt::print("{}\n", json);
    return {};
  }
  std::ofstream file(options.path);
  file << json << '\n';
  if (!file.flush()) {
    return error(StatusCode::System, fmt::format("The file can't be written ({}).", options.path));
  }
  return {};
}

int run_profile(const ProfileOptions& options) {
  if (auto dumped = dump(options); !dumped) {
    fmt::print(stderr, "doppel profile: {}\n", dumped.error().to_string());
    return 1;
  }
  return 0;
}

}  // namespace

void add_profile(CLI::App& app, int& status) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      app.add_subcommand("profile", "Machine profiles: real machines for the emulator");
  command->require_subcommand(1);
  command->footer(kProfileExamples);
  CLI::App* dump_command =
      command->add_subcommand("dump", "Write what the machine says of itself as JSON");
  dump_command->footer(kProfileExamples);
  dump_command->add_option("--backend", options->backend, "kfd or mock:MODEL[,option=value]")
      ->capture_default_str();
  dump_command->add_option("-o,--output", options->path, "File; by default standard output");
  dump_command->callback([options, &status] { status = run_profile(*options); });
}

}  // namespace doppel::tools
