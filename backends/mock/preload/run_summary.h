// RunSummary: what the emulated GPUs did for this process, as one line of JSON in a file that the
// processes of a run share:
//
//   {"program":"vector_add","pid":4242,"packets":37,"dispatches":4,"workgroups":395,"waves":3140,
//    "wave_instructions":25120,"faults":0,"gpus":[{"model":"gfx1030",...}]}
//
// The line is kept up to date while the process runs, blanks filling it up, so that it is there
// however the process ends.
#pragma once

#include <string>

#include "backends/mock/machine.h"
#include "backends/mock/raw_system.h"
#include "core/status.h"

namespace doppel::mock::preload {

class RunSummary {
 public:
  /// Takes a line of the file. System if that can't be written.
  static Result<RunSummary> open(const std::string& path, const Machine& machine);
  RunSummary(RunSummary&&) = default;

  /// Writes what has changed, if anything. With the driver's lock held.
  void update(const Machine& machine);

 private:
  RunSummary(UniqueFd file, int64_t offset, size_t bytes);

  UniqueFd file_;
  int64_t offset_;
  size_t bytes_;
  uint64_t written_ = 0;  // the sum of all counters when the line was last written
};

}  // namespace doppel::mock::preload
