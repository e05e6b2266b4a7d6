// An emulated machine in process that a MachineReport watches, with a device on it.
#pragma once

#include <memory>
#include <string>

#include "backends/kfd/kfd_device.h"
#include "backends/mock/virtual_kernel.h"
#include "backends/report/process_report.h"
#include "backends/report/reporting_kernel.h"
#include "tools/compare/workload.h"
#include "tools/selftest/kernels.h"

namespace doppel::report::test {

class ObservedMachine {
 public:
  explicit ObservedMachine(std::string_view name = "mock:gfx1100,cu=4", bool counters = true)
      : kernel_(mock::VirtualKernel::create(mock::parse_machine(name).value()).value()),
        report_(*kernel_, "observed", counters),
        process_(
            kfd::KfdProcess::open(std::make_shared<ReportingKernel>(kernel_, report_.recorder()))
                .value()),
        gpu_(kfd::KfdDevice::open(process_, 0, "gpu").value()) {}

  Device& gpu() { return *gpu_; }
  const Run& run() { return report_.run(); }

  /// Both launches of the workload of this name.
  Result<> launch(std::string_view workload, GraphExecutor executor = GraphExecutor::Pm4Sdma) {
    for (const compare::Workload& each : compare::workloads()) {
      if (each.name != workload) continue;
      DOPPEL_ASSIGN(const Program program,
                    gpu().load_program(selftest::code_object_for(gpu().target())));
      DOPPEL_ASSIGN(compare::Prepared prepared, each.prepare(gpu(), program));
      DOPPEL_ASSIGN(GraphExec exec, prepared.graph.instantiate(gpu(), {.executor = executor}));
      DOPPEL_TRY(exec.launch().wait());
      return exec.launch().wait();
    }
    return error(StatusCode::NotFound, "There is no such workload.");
  }

  /// A copy of what another queue writes, with nothing between them.
  Result<> race() {
    DOPPEL_ASSIGN(const Allocation a, gpu().allocate(4096));
    DOPPEL_ASSIGN(const Allocation b, gpu().allocate(4096));
    DOPPEL_ASSIGN(const Allocation c, gpu().allocate(4096));
    DOPPEL_ASSIGN(const auto other, gpu().create_queue({.kind = QueueKind::Sdma}));
    DOPPEL_TRY(gpu().sdma().copy(a, b).submit());
    SdmaCommands second(*other);
    DOPPEL_TRY(second.copy(b, c).submit());
    return gpu().synchronize();
  }

 private:
  std::shared_ptr<mock::VirtualKernel> kernel_;
  MachineReport report_;
  std::shared_ptr<kfd::KfdProcess> process_;
  std::unique_ptr<kfd::KfdDevice> gpu_;
};

}  // namespace doppel::report::test
