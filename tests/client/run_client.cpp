#include "tests/client/run_client.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "tests/paths.h"

namespace doppel::client {

Outcome shell(const std::string& command) {
  return test::shell("(" + command + ") 2>&1");
}

Outcome run(const std::string& options, const std::string& command) {
  return shell(fmt::format("{} run {} -- {}", doppel_program(), options, command));
}

CountedOutcome count(const Outcome& outcome, const std::string& summary) {
  CountedOutcome counted{outcome, {}, {}};
  std::istringstream lines(read_file(summary));
  for (std::string line; std::getline(lines, line);) {
    const auto process = nlohmann::json::parse(line);
    counted.counters.packets += process.at("packets").get<uint64_t>();
    counted.counters.dispatches += process.at("dispatches").get<uint64_t>();
    counted.counters.wave_instructions += process.at("wave_instructions").get<uint64_t>();
    counted.counters.faults += process.at("faults").get<uint64_t>();
    counted.processes.push_back(process);
  }
  return counted;
}

CountedOutcome run_counted(const std::string& name, const std::string& options,
                           const std::string& command) {
  const std::string summary = scratch_file(name + ".summary");
  return count(run(options + " --summary " + summary, command), summary);
}

std::string scratch_file(const std::string& name) {
  const auto directory = test::binary_dir() / "client-output";
  std::filesystem::create_directories(directory);
  return (directory / name).string();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool installed(const std::string& program) {
  return shell("command -v " + program).status == 0;
}

std::string hip_client(const std::string& name) {
  const std::string path = fmt::format("{}/hip/{}", test::binary_dir().string(), name);
  return std::filesystem::exists(path) ? path : std::string();
}

}  // namespace doppel::client
