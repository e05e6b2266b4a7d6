// Topology: the machine as KFD describes it in sysfs: nodes with properties, memory banks, caches
// and links. Plain values, read once; nothing here is interpreted beyond its type.
// Source: Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/kernel_abi.h"
#include "backends/kfd/queue_buffers.h"
#include "core/status.h"
#include "core/target.h"

namespace doppel::kfd {

/// The "key value" lines of a properties file. Absent keys read as 0: which ones exist depends on
/// the kernel's version.
class Properties {
 public:
  /// Malformed, naming file and line, if a line is no pair of a key and a number.
  static Result<Properties> parse(std::string_view text, const std::string& path);

  uint64_t operator[](std::string_view key) const;
  bool contains(std::string_view key) const { return values_.find(key) != values_.end(); }
  const std::map<std::string, uint64_t, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, uint64_t, std::less<>> values_;
};

struct TopologyNode {
  uint32_t id = 0;
  uint32_t gpu_id = 0;  // 0 for a CPU
  std::string name;
  Properties properties;
  std::vector<Properties> memory_banks;
  std::vector<Properties> caches;
  std::vector<Properties> links;  // io_links, then p2p_links

  bool is_gpu() const { return gpu_id != 0; }
  /// The row for gfx_target_version, or nullptr if doppel doesn't know it.
  const Target* target() const;
  /// "gfx1100", spelled from gfx_target_version, known or not.
  std::string gfx_name() const;
  /// "0000:03:00.0", from domain and location_id.
  std::string pci_address() const;
  uint32_t compute_units() const;
  uint32_t shader_engines() const;
  uint64_t vram_bytes() const;          // frame buffer banks, public and private
  uint64_t visible_vram_bytes() const;  // public ones
  QueueBufferSizes queue_buffers() const;
};

struct Topology {
  std::vector<TopologyNode> nodes;  // by id

  std::vector<const TopologyNode*> gpus() const;
};

/// Reads the tree; retries if it changes meanwhile. Unavailable if there is none. Nodes that the
/// process may not use (gpu_id unreadable, as under a device cgroup) are left out.
Result<Topology> read_topology(KernelAbi& kernel);

}  // namespace doppel::kfd
