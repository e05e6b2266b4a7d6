// Shim: what the preloaded library knows of its process: the emulated machine, and where its files
// are. Made by the first call that concerns the machine, which may come before this library's
// constructors have run, and used until the process ends, after its destructors: nothing here is
// ever destroyed. A forked child starts anew, as it does with the real driver.
//
// Environment: DOPPEL_GPU (specification, default "mock:gfx1100"), DOPPEL_ROOT (a directory for the
// machine's files; without it one is made and removed at exit), DOPPEL_TRACE, DOPPEL_SUMMARY,
// DOPPEL_REPORT and DOPPEL_TIMELINE (files to write a Trace, a RunSummary and a ProcessReport to,
// once the process opens /dev/kfd), DOPPEL_VERIFY (checks, see Verify::parse), DOPPEL_SUPPRESSIONS
// (their text) and DOPPEL_FINDINGS (a file, see verify::write_report).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "backends/mock/engine_progress.h"
#include "backends/mock/preload/fake_root.h"
#include "backends/mock/preload/run_summary.h"
#include "backends/mock/preload/trace.h"
#include "backends/mock/virtual_kernel.h"
#include "backends/report/process_report.h"

namespace doppel::mock::preload {

class Shim {
 public:
  /// The process's shim; made if need be. nullptr if the machine can't be made: the reason has been
  /// printed, and there is no device.
  static Shim* get();
  /// As get, but nullptr if nobody has needed it so far.
  static Shim* existing();
  /// Called in the child where the process forks.
  static void forget_after_fork();
  /// Whether the descriptor is /dev/kfd as a forking parent opened it: not this process's to use.
  static bool is_parents_kfd(int fd);

  const FakeRoot& root() const { return *root_; }

  /// The device node that a path names, whether or not there is such a GPU.
  static DeviceNode node_of_path(std::string_view path);
  /// Whether the machine has this node.
  bool has(const DeviceNode& node) const;
  /// open(2) of a device node: a descriptor, or -errno.
  int open_device(const char* path, int flags);
  /// Which node a descriptor is; cheap for descriptors that are none.
  DeviceNode node_of(int fd);
  /// ioctl(2) on one of our descriptors: the result or -errno.
  int ioctl(int fd, unsigned long request, void* argument);

  /// Where driver calls are logged; nullptr if nobody asked for it.
  kfd::CallLog* call_log() { return trace_ == nullptr ? nullptr : &trace_->calls(); }

 private:
  Shim() = default;
  Result<> start();
  /// When the process first opens /dev/kfd.
  void start_engine();
  void after_slice();
  void start_observers();
  int carry_out(int fd, unsigned long request, void* argument);
  void report_faults();
  void report_coverage(MachineProfile& machine);
  void report_lost_memory();
  void finish_summary();
  void report_findings_at_exit();
  /// Whether there are any.
  bool report_findings();

  std::unique_ptr<VirtualKernel> kernel_;
  std::optional<FakeRoot> root_;
  EngineProgress* engine_ = nullptr;  // owned by kernel_
  std::once_flag engine_started_;
  std::unique_ptr<Trace> trace_;
  std::optional<RunSummary> summary_;
  report::ProcessReport* report_ = nullptr;  // never destroyed
  raw::FileIdentity kfd_;                    // shares its device number with all our descriptors
  uint64_t reported_faults_ = 0;
};

}  // namespace doppel::mock::preload
