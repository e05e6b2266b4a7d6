#include "backends/mock/preload/run_summary.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace doppel::mock::preload {
namespace {

using Json = nlohmann::ordered_json;

// Room for numbers to grow in: a GPU's object with every counter at its longest, and the totals.
constexpr size_t kBytesPerGpu = 320;

void add(emu::GpuCounters& sum, const emu::GpuCounters& counters) {
  sum.packets += counters.packets;
  sum.dispatches += counters.dispatches;
  sum.workgroups += counters.workgroups;
  sum.waves += counters.waves;
  sum.wave_instructions += counters.wave_instructions;
  sum.faults += counters.faults;
}

void append(Json& object, const emu::GpuCounters& counters) {
  object["packets"] = counters.packets;
  object["dispatches"] = counters.dispatches;
  object["workgroups"] = counters.workgroups;
  object["waves"] = counters.waves;
  object["wave_instructions"] = counters.wave_instructions;
  object["faults"] = counters.faults;
}

/// Counters only grow: their sum changes whenever one of them does.
uint64_t sum_of_all(const Machine& machine) {
  uint64_t sum = 0;
  for (const VirtualGpu& gpu : machine.gpus()) {
    const emu::GpuCounters& counters = gpu.engine().counters();
    sum += counters.packets + counters.dispatches + counters.workgroups + counters.waves +
           counters.wave_instructions + counters.faults;
  }
  return sum;
}

std::string describe(const Machine& machine) {
  emu::GpuCounters total;
  Json gpus = Json::array();
  for (const VirtualGpu& gpu : machine.gpus()) {
    const emu::GpuCounters& counters = gpu.engine().counters();
    add(total, counters);
    Json entry{{"model", gpu.profile().target->name}};
    append(entry, counters);
    gpus.push_back(std::move(entry));
  }
  Json line{{"program", program_invocation_short_name}, {"pid", raw::process_id()}};
  append(line, total);
  line["gpus"] = std::move(gpus);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

RunSummary::RunSummary(UniqueFd file, int64_t offset, size_t bytes)
    : file_(std::move(file)), offset_(offset), bytes_(bytes) {}

Result<RunSummary> RunSummary::open(const std::string& path, const Machine& machine) {
  std::string line = describe(machine);
  line.resize(line.size() + (machine.gpus().size() + 1) * kBytesPerGpu, ' ');
  line += '\n';
  // Appending is atomic: the line is this process's own. Later writes say where.
  UniqueFd appending(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool written =
      appending.get() >= 0 && file.get() >= 0 &&
      ::write(appending.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int64_t end = written ? ::lseek(appending.get(), 0, SEEK_CUR) : -1;
  if (end < 0) {
    const int os_error = errno;
    return error(
        StatusCode::System,
        fmt::format("The summary can't be written ({}): {}.", path, std::strerror(os_error)),
        os_error);
  }
  const auto bytes = static_cast<int64_t>(line.size());
  return RunSummary(std::move(file), end - bytes, line.size() - 1);
}

void RunSummary::update(const Machine& machine) {
  const uint64_t sum = sum_of_all(machine);
  if (sum == written_) return;
  written_ = sum;
  std::string line = describe(machine);
  line.resize(bytes_, ' ');
  (void)!::pwrite(file_.get(), line.data(), line.size(), offset_);
}

}  // namespace doppel::mock::preload
