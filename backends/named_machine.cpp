#include "backends/named_machine.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include <fmt/format.h>

#include "backends/capture/capture_kernel.h"
#include "backends/kfd/linux_kernel.h"
#include "backends/kfd/recording_kernel.h"
#include "backends/mock/device_profile.h"
#include "backends/mock/virtual_kernel.h"
#include "backends/report/process_report.h"
#include "backends/report/reporting_kernel.h"

namespace doppel {
namespace {

constexpr std::string_view kKfdName = "kfd";

/// The process's trace, where the environment asks for one (`doppel record`): of the first machine
/// that it opens. Never destroyed, so that it can be ended when the process exits.
struct ProcessTrace {
  std::ofstream file;
  std::shared_ptr<capture::CaptureKernel> kernel;
};

Result<std::shared_ptr<kfd::KernelAbi>> capture_if_wanted(std::shared_ptr<kfd::KernelAbi> kernel,
                                                          std::string_view name) {
  static auto& mutex = *new std::mutex;
  static ProcessTrace* trace = nullptr;
  const char* path = std::getenv(kTraceVariable.data());
  if (path == nullptr || *path == '\0') return kernel;
  const std::scoped_lock lock(mutex);
  if (trace != nullptr) return kernel;
  trace = new ProcessTrace;
  trace->file.open(path, std::ios::binary | std::ios::trunc);
  if (!trace->file) {
    return error(StatusCode::System, fmt::format("The trace can't be written ({}).", path));
  }
  trace->kernel =
      std::make_shared<capture::CaptureKernel>(std::move(kernel), trace->file, std::string(name));
  std::atexit([] {
    if (const auto ended = trace->kernel->finish(); !ended) {
      fmt::print(stderr, "doppel: {}\n", ended.error().to_string());
    }
    trace->file.close();
  });
  return trace->kernel;
}

/// The process's report, where the environment asks for one (`doppel run --report`).
std::shared_ptr<kfd::KernelAbi> report_if_wanted(std::shared_ptr<mock::VirtualKernel> kernel) {
  report::ProcessReport* report = report::ProcessReport::begin(*kernel);
  if (report == nullptr) return kernel;
  // It is looked at when the process exits.
  static auto& kept = *new std::shared_ptr<mock::VirtualKernel>;
  kept = kernel;
  return std::make_shared<report::ReportingKernel>(std::move(kernel), report->recorder());
}

Result<std::shared_ptr<kfd::KfdProcess>> open_process(std::shared_ptr<kfd::KernelAbi> kernel,
                                                      std::string_view name, std::ostream* record) {
  DOPPEL_ASSIGN(kernel, capture_if_wanted(std::move(kernel), name));
  if (record != nullptr) {
    kernel = std::make_shared<kfd::RecordingKernel>(std::move(kernel), *record);
  }
  return kfd::KfdProcess::open(std::move(kernel));
}

Result<std::shared_ptr<kfd::KfdProcess>> linux_process(std::ostream* record) {
  // Never destroyed: devices may be in use while the process exits.
  static auto& mutex = *new std::mutex;
  static auto& shared = *new std::shared_ptr<kfd::KfdProcess>;
  const std::scoped_lock lock(mutex);
  if (shared == nullptr) {
    DOPPEL_ASSIGN(shared, open_process(std::make_shared<kfd::LinuxKernel>(), kKfdName, record));
  }
  return shared;
}

/// The N of "kfd:N"; nullopt if `text` is anything else.
std::optional<uint32_t> parse_index(std::string_view text) {
  if (!text.starts_with(':')) return std::nullopt;
  uint32_t index = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + 1, end, index);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return index;
}

std::unexpected<Status> unknown_name(std::string_view name) {
  return error(
      StatusCode::InvalidArgument,
      fmt::format("The device name ({}) is neither kfd[:N] nor mock:MODEL[,option=value].", name));
}

std::unexpected<Status> not_emulated(std::string_view name) {
  return error(
      StatusCode::Unsupported,
      fmt::format("Only emulated devices can be verified or scheduled ({} is not).", name));
}

}  // namespace

Result<std::shared_ptr<kfd::KernelAbi>> open_named_kernel(std::string_view name,
                                                          const Verify& verify,
                                                          emu::Schedule* schedule) {
  if (name == kKfdName) {
    if (verify.any() || schedule != nullptr) return not_emulated(name);
    return std::make_shared<kfd::LinuxKernel>();
  }
  if (!name.starts_with(kMockPrefix)) return unknown_name(name);
  DOPPEL_ASSIGN(mock::MachineProfile profile, mock::parse_machine(name));
  profile.schedule = schedule;
  DOPPEL_ASSIGN(std::shared_ptr<mock::VirtualKernel> kernel,
                mock::VirtualKernel::create(std::move(profile), {}, verify));
  return report_if_wanted(std::move(kernel));
}

Result<NamedMachine> open_named_machine(std::string_view name, const MachineOptions& options) {
  if (name.starts_with(kMockPrefix)) {
    DOPPEL_ASSIGN(auto kernel, open_named_kernel(name, options.verify, options.schedule));
    DOPPEL_ASSIGN(auto process, open_process(std::move(kernel), name, options.record));
    return NamedMachine{std::move(process), std::nullopt};
  }
  if (name.starts_with(kKfdName)) {
    const auto index = parse_index(name.substr(kKfdName.size()));
    if (index || name == kKfdName) {
      if (options.verify.any() || options.schedule != nullptr) return not_emulated(name);
      DOPPEL_ASSIGN(auto process, linux_process(options.record));
      return NamedMachine{std::move(process), index};
    }
  }
  return unknown_name(name);
}

}  // namespace doppel
