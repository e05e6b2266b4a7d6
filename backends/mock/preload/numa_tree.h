// The host's memory nodes, for hosts that don't show them: containers and chroots without sysfs.
// libnuma finds no node there, and ROCr, which sizes its tables by it, no agent.
#pragma once

#include <string_view>

#include "backends/mock/device_profile.h"
#include "backends/mock/sysfs_tree.h"

namespace doppel::mock::preload {

inline constexpr std::string_view kNumaNodes = "/sys/devices/system/node";

/// Whether the kernel shows no node here. One system call.
bool host_hides_its_nodes();

/// One node that has all cores and all memory, as the kernel shows it where there is no NUMA: what
/// libnuma reads, in the texts of Documentation/ABI/stable/sysfs-devices-node.
void add_numa_node(SysfsTree& tree, const MachineProfile& host);

}  // namespace doppel::mock::preload
