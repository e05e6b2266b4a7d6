#include "backends/mock/preload/numa_tree.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "backends/mock/raw_system.h"

namespace doppel::mock::preload {
namespace {

constexpr uint32_t kMaskWordBits = 32;

/// A mask of the first `count` processors: words of 32 bits in hexadecimal, the highest first.
std::string cpu_mask(uint32_t count) {
  std::string text;
  for (uint32_t word = (count + kMaskWordBits - 1) / kMaskWordBits; word-- > 0;) {
    const uint32_t bits = std::min(count - word * kMaskWordBits, kMaskWordBits);
    const uint64_t mask = (uint64_t{1} << bits) - 1;
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
  tree.add_file(node + "/cpumap", cpu_mask(host.host_cores));
  tree.add_file(node + "/distance", "10\n");
  tree.add_file(node + "/meminfo", memory_text(host.host_memory_bytes));
}

}  // namespace doppel::mock::preload
