#include "backends/report/process_report.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "backends/report/page.h"
#include "backends/report/timeline.h"
#include "emulator/stall_report.h"

namespace doppel::report {
namespace {

std::atomic<ProcessReport*> the_report = nullptr;  // never destroyed

std::vector<emu::Observer*> with(std::vector<emu::Observer*> others, emu::Observer* one) {
  others.push_back(one);
  return others;
}

/// Without suppressions there is nothing that it could refuse.
std::unique_ptr<verify::Verifier> hazard_verifier(emu::Simulator& machine) {
  return verify::Verifier::attach(machine, {.hazards = true, .unseen_host = true}).value();
}

std::string describe(const emu::Stall& stall) {
  std::string text = fmt::format("{}: {}", stall.queue, stall.wait.reason);
  for (const emu::Producer& producer : stall.producers) {
    text += fmt::format("; {} of {} would store it", producer.packet, producer.queue);
  }
  return text;
}

std::string setting(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

/// Writes a file whole.
Result<> write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.flush()) return {};
  const int os_error = errno;
  return error(StatusCode::System,
               fmt::format("The file can't be written ({}): {}.", path, std::strerror(os_error)),
               os_error);
}

}  // namespace

MachineReport::MachineReport(mock::VirtualKernel& kernel, std::string title, bool counters,
                             std::vector<emu::Observer*> others)
    : machine_(kernel.machine().simulator()),
      own_verifier_(kernel.verifier() ? nullptr : hazard_verifier(machine_)),
      verifier_(own_verifier_ ? *own_verifier_ : *kernel.verifier()),
      recorder_(machine_.clock(), std::move(title),
                {.counters = counters, .others = with(std::move(others), &verifier_)}) {
  machine_.observe(&recorder_);
}

const Run& MachineReport::run() {
  Run& run = recorder_.run();
  const auto& findings = verifier_.findings().findings();
  run.findings.assign(findings.begin(), findings.end());
  run.checked = true;
  run.stalls.clear();
  for (const emu::Stall& stall : machine_.stalls()) run.stalls.push_back(describe(stall));
  return run;
}

ProcessReport* ProcessReport::begin(mock::VirtualKernel& kernel,
                                    std::vector<emu::Observer*> others) {
  ReportFiles files{setting(kReportVariable), setting(kTimelineVariable)};
  if ((files.page.empty() && files.timeline.empty()) || the_report != nullptr) return nullptr;
  static pid_t owner;  // a forked child has no GPU and writes nothing
  owner = ::getpid();
  the_report = new ProcessReport(kernel, std::move(files), std::move(others));
  std::atexit([] {
    if (::getpid() == owner) the_report.load()->write();
  });
  return the_report;
}

ProcessReport::ProcessReport(mock::VirtualKernel& kernel, ReportFiles files,
                             std::vector<emu::Observer*> others)
    : kernel_(kernel),
      files_(std::move(files)),
      report_(kernel, program_invocation_short_name, files_.shows_counters(), std::move(others)) {}

void ProcessReport::write() {
  const std::lock_guard hold(kernel_.progress().lock());
  if (const auto written = write_report(files_, report_.run()); !written) {
    fmt::print(stderr, "doppel: {}\n", written.error().message());
  }
}

Result<> write_report(const ReportFiles& files, const Run& run) {
  if (!files.page.empty()) DOPPEL_TRY(write_file(files.page, to_html(run)));
  if (!files.timeline.empty()) DOPPEL_TRY(write_file(files.timeline, timeline_json(run)));
  return {};
}

}  // namespace doppel::report
