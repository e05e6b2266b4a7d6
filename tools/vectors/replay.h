// Replay: runs cases and captured kernels on the interpreter and compares what they leave behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/target.h"
#include "emulator/dispatch/dispatcher.h"
#include "emulator/fault.h"
#include "tools/vectors/captured_kernel.h"
#include "tools/vectors/compare.h"
#include "tools/vectors/isa_case.h"

namespace doppel::vectors {

struct CaseOutcome {
  std::optional<emu::Fault> fault{};
  std::optional<Mismatch> mismatch{};
  const Target* target = nullptr;  // it ran on

  bool passed() const { return !fault && !mismatch; }
};

/// Runs the case as its set demands; `coverage` counts what it executes. A target that doesn't know
/// one of the case's instructions gives way to the next of the same architecture (gfx1100, then
/// gfx1150).
CaseOutcome replay(const IsaCase& isa_case, isa::Coverage* coverage = nullptr);

/// The first difference between a kernel's buffer and what was captured.
struct BufferMismatch {
  size_t buffer = 0;    // index in CapturedKernel::buffers
  uint64_t offset = 0;  // byte, at the start of a dword
  uint32_t expected = 0;
  uint32_t got = 0;
  uint64_t others = 0;  // further dwords that differ
};

struct KernelOutcome {
  std::optional<emu::Fault> fault{};
  std::optional<BufferMismatch> mismatch;
  emu::DispatchCounters counters;  // of one launch
  std::vector<double> seconds;     // of each launch, as `clock` measures

  bool passed() const { return !fault && !mismatch; }
};

struct KernelReplayOptions {
  uint32_t workers = 1;
  uint32_t repeat = 1;           // launches, at least one
  const Clock* clock = nullptr;  // times launches if given
  isa::Coverage* coverage = nullptr;
};

/// Launches the kernel on its captured inputs and compares every written buffer after each launch.
KernelOutcome replay(const CapturedKernel& kernel, const KernelReplayOptions& options);

}  // namespace doppel::vectors
