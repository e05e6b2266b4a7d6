// named_machine: what a device name stands for below the abstract interface: a driver with its
// topology, and perhaps one GPU of it. For open_device() and for tools that describe machines.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string_view>

#include "backends/kfd/kfd_process.h"
#include "core/status.h"
#include "core/verify/verify.h"

namespace doppel::emu {
class Schedule;
}

namespace doppel {

struct NamedMachine {
  std::shared_ptr<kfd::KfdProcess> process;
  std::optional<uint32_t> index;  // of the GPU, where the name says one ("kfd:1")
};

inline constexpr std::string_view kMockPrefix = "mock:";

/// Environment variable: a file into which the first machine that the process opens is traced
/// (backends/capture); `doppel record` sets it.
inline constexpr std::string_view kTraceVariable = "DOPPEL_RECORD";

/// What is done with a machine besides using it.
struct MachineOptions {
  std::ostream* record = nullptr;
  Verify verify = {};
  emu::Schedule* schedule = nullptr;  // as OpenOptions::schedule
};

/// The driver alone, not yet spoken to: "kfd" or "mock:MODEL[,option=value]". Unsupported if a real
/// machine is to be verified.
Result<std::shared_ptr<kfd::KernelAbi>> open_named_kernel(std::string_view name,
                                                          const Verify& verify = {},
                                                          emu::Schedule* schedule = nullptr);

/// "kfd", "kfd:N" or "mock:MODEL[,option=value]". With `record`, every call to the driver is
/// written there. KFD gives a process one address space per GPU: the real machine is opened once
/// and shared while anybody uses it (and recorded if its first opener wanted that).
/// Unsupported if a real machine is to be verified.
Result<NamedMachine> open_named_machine(std::string_view name, const MachineOptions& options = {});

}  // namespace doppel
