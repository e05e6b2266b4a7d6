// ProcessReport: a report of this very process, where the environment asks for one (`doppel run
// --report`, `--timeline`): of the first emulated machine that the process opens, written when it
// exits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/mock/virtual_kernel.h"
#include "backends/report/run_recorder.h"
#include "core/status.h"
#include "emulator/verify/verifier.h"

namespace doppel::report {

/// Environment variables: the page and the timeline to write, absolute paths.
inline constexpr const char* kReportVariable = "DOPPEL_REPORT";
inline constexpr const char* kTimelineVariable = "DOPPEL_TIMELINE";

/// Files to write; "": none.
struct ReportFiles {
  std::string page;      // HTML
  std::string timeline;  // see timeline_json()

  /// Only pages show what kernels execute, which is dear to count.
  bool shows_counters() const { return !page.empty(); }
};

/// Writes both. System if one can't be written.
Result<> write_report(const ReportFiles& files, const Run& run);

/// A recorder, attached to a machine together with its checkers: those that it has, else the one
/// for hazards.
class MachineReport {
 public:
  /// `kernel` outlives this, and its machine is not stepped meanwhile.
  MachineReport(mock::VirtualKernel& kernel, std::string title, bool counters,
                std::vector<emu::Observer*> others = {});

  RunRecorder& recorder() { return recorder_; }
  /// What there is so far, with the findings.
  const Run& run();

 private:
  emu::Simulator& machine_;
  std::unique_ptr<verify::Verifier> own_verifier_;  // of a machine that has none
  verify::Verifier& verifier_;
  RunRecorder recorder_;
};

class ProcessReport {
 public:
  /// Begins the report of a machine that lives until the process exits; nullptr if none is asked
  /// for, or there is one already. `others` observe the machine too.
  static ProcessReport* begin(mock::VirtualKernel& kernel, std::vector<emu::Observer*> others = {});

  RunRecorder& recorder() { return report_.recorder(); }

 private:
  ProcessReport(mock::VirtualKernel& kernel, ReportFiles files, std::vector<emu::Observer*> others);
  void write();

  mock::VirtualKernel& kernel_;
  ReportFiles files_;
  MachineReport report_;
};

}  // namespace doppel::report
