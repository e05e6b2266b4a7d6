// The sysfs files of an emulated machine: the KFD topology (one node for the CPU, one for each GPU)
// and the render nodes' PCI devices, in the spelling of Linux kfd_topology.c and amdgpu.
#pragma once

#include "backends/mock/machine.h"
#include "backends/mock/sysfs_tree.h"

namespace doppel::mock {

inline constexpr const char* kTopologyRoot = "/sys/devices/virtual/kfd/kfd/topology";

SysfsTree make_sysfs(const Machine& machine);

/// Parts of it.
void add_kfd_topology(SysfsTree& tree, const Machine& machine);
void add_pci_device(SysfsTree& tree, const VirtualGpu& gpu);
/// Of that, what depends on the GPU's place alone: its render node, and the links to both.
void add_pci_links(SysfsTree& tree, const VirtualGpu& gpu);

}  // namespace doppel::mock
