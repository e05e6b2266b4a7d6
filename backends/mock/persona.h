// Persona: what a machine says of itself (sysfs files, driver answers), kept so that the emulator
// can say it again: "mock:profile=FILE". Dumped from a card, it makes its software meet the same
// words in CI; dumped from the emulator, it gives the same machine back.
//
// GPUs are moved to the emulator's own places on the bus (PCI 0000:03:00.0 and up, renderD128 and
// up) when they are recorded, in paths and contents alike; everything else is verbatim.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/kernel_abi.h"
#include "backends/mock/device_profile.h"
#include "core/status.h"

namespace doppel::mock {

/// One answer of AMDGPU_INFO.
struct InfoAnswer {
  uint32_t query = 0;                    // AMDGPU_INFO_*
  std::array<uint32_t, 4> parameters{};  // the query's union
  int result = 0;                        // 0 or -errno
  std::vector<uint8_t> bytes = {};       // as many as the driver has
};

struct PersonaGpu {
  uint32_t gpu_id = 0;
  std::string pci_address = {};  // where the machine has it: for the reader
  std::string marketing_name = {};
  std::array<int, 3> drm_version{};  // amdgpu's
  std::vector<InfoAnswer> info = {};

  const InfoAnswer* find(uint32_t query, std::span<const uint32_t, 4> parameters) const;
};

struct Persona {
  std::string source;  // which machine: "kfd", "mock:gfx1100"
  uint32_t kfd_minor_version = 0;
  std::vector<PersonaGpu> gpus;              // in the topology's order
  std::map<std::string, std::string> files;  // of sysfs, by path
  std::set<std::string> empty_directories;
};

/// Asks the machine behind `kernel`. The driver's own errors come out; an answer that it refuses is
/// recorded as refused.
Result<Persona> record_persona(kfd::KernelAbi& kernel, std::string source);

/// JSON, versioned.
std::string to_json(const Persona& persona);
/// Malformed, naming what is wrong; Unsupported for another version.
Result<Persona> parse_persona(std::string_view json);

/// The machine that emulates it. Unsupported, naming the GPU, for a target that doppel does not
/// know or a partitioned GPU (num_xcc above 1).
Result<MachineProfile> emulate(Persona persona);

/// Reads and parses a file. NotFound if there is none.
Result<MachineProfile> load_persona(const std::string& path);

}  // namespace doppel::mock
