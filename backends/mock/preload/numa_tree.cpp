#include "backends/mock/preload/numa_tree.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "backends/mock/raw_system.h"

namespace doppel::mock::preload {
namespace {

constexpr uint32_t kMaskWordBits = 32;

struct Cores {
  uint32_t first = 0;
  uint32_t end = 0;
};

/// A mask of processors: words of 32 bits in hexadecimal, the highest first.
std::string cpu_mask(const Cores& cores) {
  std::string text;
  for (uint32_t word = (cores.end + kMaskWordBits - 1) / kMaskWordBits; word-- > 0;) {
    uint32_t mask = 0;
    for (uint32_t bit = 0; bit < kMaskWordBits; ++bit) {
      const uint32_t core = word * kMaskWordBits + bit;
      if (core >= cores.first && core < cores.end) mask |= 1u << bit;
    }
    text += text.empty() ? fmt::format("{:x}", mask) : fmt::format(",{:08x}", mask);
  }
  return text + "\n";
}

std::string memory_text(uint64_t bytes) {
  const auto line = [](std::string_view name, uint64_t kib) {
    return fmt::format("Node 0 {:<15} {:8} kB\n", name, kib);
  };
  const uint64_t total = bytes / 1024;
  return line("MemTotal:", total) + line("MemFree:", total) + line("MemUsed:", 0);
}

/// A core's first-level data cache; ROCr takes no node whose cores have none.
void add_data_cache(SysfsTree& tree, const std::string& cpu, uint32_t core) {
  const std::string cache = cpu + "/cache/index0/";
  tree.add_file(cache + "level", "1\n");
  tree.add_file(cache + "type", "Data\n");
  tree.add_file(cache + "size", "32K\n");
  tree.add_file(cache + "coherency_line_size", "64\n");
  tree.add_file(cache + "ways_of_associativity", "8\n");
  tree.add_file(cache + "number_of_sets", "64\n");
  tree.add_file(cache + "physical_line_partition", "1\n");
  tree.add_file(cache + "shared_cpu_map", cpu_mask({core, core + 1}));
  tree.add_file(cache + "shared_cpu_list", fmt::format("{}\n", core));
}

}  // namespace

bool host_hides_its_nodes() {
  return !raw::exists(kNumaNodes.data());
}

void add_numa_node(SysfsTree& tree, const MachineProfile& host) {
  const std::string nodes(kNumaNodes);
  for (const char* list : {"online", "possible", "has_cpu", "has_memory", "has_normal_memory"})
    tree.add_file(fmt::format("{}/{}", nodes, list), "0\n");
  const std::string node = nodes + "/node0";
  tree.add_file(node + "/cpulist",
                host.host_cores == 1 ? "0\n" : fmt::format("0-{}\n", host.host_cores - 1));
  tree.add_file(node + "/cpumap", cpu_mask({0, host.host_cores}));
  for (uint32_t core = 0; core < host.host_cores; ++core)
    add_data_cache(tree, fmt::format("{}/cpu{}", node, core), core);
  tree.add_file(node + "/distance", "10\n");
  tree.add_file(node + "/meminfo", memory_text(host.host_memory_bytes));
}

}  // namespace doppel::mock::preload
