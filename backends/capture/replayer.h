// Replayer: carries a trace out again on another driver: the same calls with the driver's own
// handles, the same memory at the same addresses, the same submissions; and compares what the GPUs
// make of them.
//
// An address range that is taken in this process is moved: 64-bit words of recorded memory that
// point into it are rewritten, at every dword (packets hold addresses so), also where they are
// shifted right by 8 (program and scratch addresses). That is a guess for data that merely looks
// like an address; a replay that moves nothing makes none.
//
// On one thread. What it made is released when it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/capture/record.h"
#include "backends/capture/trace_reader.h"
#include "backends/kfd/kernel_abi.h"
#include "core/packets/row.h"
#include "core/status.h"
#include "core/target.h"

namespace doppel::capture {

struct ReplayOptions {
  /// Added to every address, page aligned: to see that a trace can be moved.
  uint64_t move = 0;
  /// Whether results are compared with the recorded ones.
  bool compare = true;
};

/// Bytes that came out otherwise than recorded.
struct ReplayDifference {
  uint64_t record = 0;            // of the trace
  uint64_t submission = 0;        // the last one before, from 1 on
  std::string place;              // "allocation 3+0x40"
  uint64_t bytes = 0;             // that differ in one run
  uint8_t expected = 0, got = 0;  // of the first
  std::string packets;            // of that submission, as text
};

struct ReplayReport {
  uint64_t records = 0;
  uint64_t ioctls = 0;
  uint64_t submissions = 0;
  uint64_t memory_bytes = 0;    // written for the host
  uint64_t compared_bytes = 0;  // of results
  uint64_t timestamps = 0;      // of signals that differ; they may
  bool moved = false;
  std::optional<ReplayDifference> first;  // where it differs first
  uint64_t differences = 0;               // runs of bytes
};

/// What the trace says of its machine, for the choice of another.
Result<StartRecord> read_start(TraceReader& trace);

/// "mock:gfx1100,count=2": the emulated machine on which the trace can be carried out.
std::string emulated_machine(const StartRecord& start);

/// Carries the trace out on `kernel`. An error is a trace that is damaged or can't be carried out;
/// it names the record.
Result<ReplayReport> replay(TraceReader& trace, std::shared_ptr<kfd::KernelAbi> kernel,
                            const ReplayOptions& options = {});

}  // namespace doppel::capture
