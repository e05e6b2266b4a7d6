// What a KernelProfile amounts to: instruction mix, divergence, LDS conflicts. For reports.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/memory/access_log.h"
#include "emulator/profile/kernel_profile.h"

namespace doppel::profile {

inline constexpr std::array kModes = {emu::AccessMode::Read, emu::AccessMode::ScalarRead,
                                      emu::AccessMode::Write, emu::AccessMode::Atomic};

/// "vector read", "scalar read", "write" or "atomic".
std::string_view to_string(emu::AccessMode mode);

/// Executions by mnemonic, most frequent first.
std::vector<std::pair<std::string_view, uint64_t>> mix_of(const KernelProfile& profile);

/// Sums over the instructions that act lane by lane.
struct Lanes {
  uint64_t executions = 0, active = 0, all = 0, partial = 0, idle = 0;

  /// Of all lanes, how many were on.
  double percent() const;
};
Lanes lanes_of(const KernelProfile& profile);

/// Sums over the LDS instructions, in cycles.
struct Banks {
  uint64_t accesses = 0, needed = 0, conflict = 0;
};
Banks banks_of(const KernelProfile& profile);

}  // namespace doppel::profile
