// Sandbox: one kernel on an emulated GPU of its own: buffers from files and fills in, results and
// counters out. Goes the whole way (driver, queue, packets), so that what runs here runs as it
// would in a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/launch.h"
#include "core/status.h"
#include "emulator/memory/access_log.h"
#include "emulator/profile/kernel_profile.h"
#include "tools/exec/arg_spec.h"
#include "tools/exec/buffer_names.h"
#include "tools/exec/debugger.h"
#include "tools/exec/watch_list.h"

namespace doppel::exec {

struct LaunchSpec {
  std::string kernel;   // may be empty where the file has but one
  std::string machine;  // "mock:..."; empty: an emulated GPU of the code's target
  Dim3 grid{1};         // workgroups
  Dim3 workgroup{1};    // work-items
  std::vector<ArgSpec> args;
  uint32_t dynamic_group_bytes = 0;
  std::vector<std::string> watches;  // addresses
  Debugger::Options debugger;
};

struct BufferResult {
  std::string name;  // "arg0"
  std::vector<std::byte> content;
  BufferSpec spec;  // as it was asked for
};

/// A watched byte afterwards, and the instruction that wrote it last.
struct WatchResult {
  Watch watch;
  std::optional<uint8_t> value;  // of an argument's byte
  std::string instruction;       // of Watch::last
  uint64_t pc_offset = 0;
};

struct Outcome {
  std::string kernel;
  std::string target;
  std::string device;
  Dim3 grid, workgroup;
  uint64_t entry = 0;  // address of the kernel's first instruction
  doppel::profile::KernelProfile profile;
  emu::AccessLog accesses;
  std::vector<BufferResult> buffers;
  std::vector<WatchResult> watches;
  uint64_t lds_out_of_range = 0;  // accesses of lanes
  std::optional<Status> failure;  // the kernel's own: a fault, or it never ends
  uint32_t debugger_mistakes = 0;
};

/// Runs the kernel of `file`. An error is a launch that can't be made; a kernel that fails is in
/// the Outcome. `commands` and `output` serve the debugger.
Result<std::unique_ptr<Outcome>> run(std::span<const std::byte> file, const LaunchSpec& spec,
                                     std::istream& commands, std::ostream& output);

/// What a user reads, and one JSON object.
std::string to_text(const Outcome& outcome, bool annotate);
std::string to_json(const Outcome& outcome);

}  // namespace doppel::exec
