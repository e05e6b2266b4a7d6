#include "backends/mock/virtual_topology.h"

#include <bit>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "backends/mock/persona.h"

namespace doppel::mock {
namespace {

constexpr const char* kTopologyClass = "/sys/class/kfd/kfd";
constexpr const char* kTopologyDevice = "/sys/devices/virtual/kfd/kfd";

using Property = std::pair<std::string_view, uint64_t>;

// Linux kfd_crat.h, kfd_topology.h, kfd_sysfs.h.
constexpr uint32_t kHeapSystem = 0;
constexpr uint32_t kHeapFbPublic = 1;
constexpr uint32_t kHeapFbPrivate = 2;
constexpr uint32_t kLinkPcie = 2;
constexpr uint32_t kLinkEnabled = 1;
constexpr uint32_t kLinkWeightPcie = 20;
constexpr uint32_t kLinkMinBandwidth = 312;    // MB/s
constexpr uint32_t kLinkMaxBandwidth = 31504;  // PCIe 4.0 x16
constexpr uint32_t kCacheData = 1;
constexpr uint32_t kCacheInstruction = 2;
constexpr uint32_t kCacheSimd = 8;
constexpr uint32_t kSimdIdBase = 0x80000000;  // bit 31: ids of GPU SIMDs, not of CPU cores

constexpr uint32_t kCapWatchPoints = 0x80;
constexpr int kCapWatchPointsShift = 8;
constexpr uint32_t kCapDoorbellType2 = 2 << 12;
constexpr uint32_t kCapTrapDebug = 0x8000 | 0x10000 | 0x20000;
constexpr uint32_t kCapPreciseMemory = 0x40000;
constexpr int kDebugWatchHighShift = 4;
constexpr uint64_t kDebugWatchHigh = 29;
constexpr uint64_t kDebugWatchLowGfx9 = 6;
constexpr uint64_t kDebugWatchLowGfx10 = 7;
constexpr uint64_t kDebugDispatchInfoAlwaysValid = 0x400;

constexpr uint32_t kHostMemoryBits = 64;
constexpr uint32_t kHostMemoryClock = 2666;
constexpr uint32_t kHostEngineClock = 4000;

std::string properties(std::initializer_list<Property> rows) {
  std::string text;
  for (const auto& [key, value] : rows) text += fmt::format("{} {}\n", key, value);
  return text;
}

std::string node_path(uint32_t node) {
  return fmt::format("{}/nodes/{}", kTopologyRoot, node);
}

uint32_t capability(const DeviceProfile& gpu) {
  uint32_t bits = kCapDoorbellType2 | kCapTrapDebug;
  if (gpu.watch_points > 1)
    bits |= kCapWatchPoints | (std::bit_width(gpu.watch_points) - 1) << kCapWatchPointsShift;
  if (gpu.gc.major >= 11) bits |= kCapPreciseMemory;
  return bits;
}

uint64_t debug_properties(const DeviceProfile& gpu) {
  const bool gfx9 = gpu.gc.major < 10;
  return (gfx9 ? kDebugWatchLowGfx9 : kDebugWatchLowGfx10) |
         kDebugWatchHigh << kDebugWatchHighShift |
         (gpu.gc.major >= 11 ? kDebugDispatchInfoAlwaysValid : 0);
}

void add_link(SysfsTree& tree, const std::string& kind, uint32_t index, uint32_t from, uint32_t to,
              uint32_t weight) {
  tree.add_file(fmt::format("{}/{}/{}/properties", node_path(from), kind, index),
                properties({{"type", kLinkPcie},
                            {"version_major", 0},
                            {"version_minor", 0},
                            {"node_from", from},
                            {"node_to", to},
                            {"weight", weight},
                            {"min_latency", 0},
                            {"max_latency", 0},
                            {"min_bandwidth", kLinkMinBandwidth},
                            {"max_bandwidth", kLinkMaxBandwidth},
                            {"recommended_transfer_size", 0},
                            {"flags", kLinkEnabled}}));
}

void add_memory_bank(SysfsTree& tree, uint32_t node, uint32_t heap, uint64_t bytes, uint32_t width,
                     uint32_t clock) {
  const std::string bank = node_path(node) + "/mem_banks/0";
  tree.add_file(bank + "/properties", properties({{"heap_type", heap},
                                                  {"size_in_bytes", bytes},
                                                  {"flags", 0},
                                                  {"width", width},
                                                  {"mem_clk_max", clock}}));
  tree.add_file(bank + "/used_memory", "0\n");
}

/// Numbers the caches of a node as they are added.
class CacheList {
 public:
  CacheList(SysfsTree& tree, uint32_t node, const DeviceProfile& gpu)
      : tree_(tree), node_(node), gpu_(gpu) {}

  /// One cache for each group of `cus` CUs.
  void add_per_group(uint32_t cus, uint32_t level, uint32_t kib, uint32_t type) {
    if (kib == 0) return;
    for (uint32_t first = 0; first < gpu_.compute_units; first += cus)
      add(first, std::min(cus, gpu_.compute_units - first), level, kib, type);
  }
  uint32_t count() const { return count_; }

 private:
  void add(uint32_t first_cu, uint32_t cus, uint32_t level, uint32_t kib, uint32_t type) {
    std::string text = properties({{"processor_id_low", kSimdIdBase + first_cu * gpu_.simd_per_cu},
                                   {"level", level},
                                   {"size", kib},
                                   {"cache_line_size", gpu_.cache.line_bytes},
                                   {"cache_lines_per_tag", 1},
                                   {"association", 16},
                                   {"latency", 1},
                                   {"type", type | kCacheSimd}});
    text += "sibling_map ";
    const uint32_t bits = (gpu_.compute_units + 31) / 32 * 32;
    for (uint32_t cu = 0; cu < bits; ++cu) {
      text += cu >= first_cu && cu < first_cu + cus ? '1' : '0';
      text += cu + 1 == bits ? '\n' : ',';
    }
    tree_.add_file(fmt::format("{}/caches/{}/properties", node_path(node_), count_++),
                   std::move(text));
  }

  SysfsTree& tree_;
  uint32_t node_;
  const DeviceProfile& gpu_;
  uint32_t count_ = 0;
};

uint32_t add_caches(SysfsTree& tree, uint32_t node, const DeviceProfile& gpu) {
  const CacheSizes& cache = gpu.cache;
  CacheList list(tree, node, gpu);
  list.add_per_group(1, 1, cache.vector_l1, kCacheData);
  list.add_per_group(cache.cus_per_scalar_cache, 1, cache.scalar_l1, kCacheData);
  list.add_per_group(cache.cus_per_scalar_cache, 1, cache.instruction, kCacheInstruction);
  list.add_per_group(gpu.cu_per_array(), 1, cache.shader_array_l1, kCacheData);
  list.add_per_group(gpu.compute_units, 2, cache.l2, kCacheData);
  list.add_per_group(gpu.compute_units, 3, cache.infinity, kCacheData);
  return list.count();
}

/// All properties of a node; the CPU's has zeros where only GPUs have something.
struct NodeProperties {
  uint32_t cpu_cores = 0;
  uint32_t mem_banks = 0;
  uint32_t caches = 0;
  uint32_t io_links = 0;
  uint32_t p2p_links = 0;
  const VirtualGpu* gpu = nullptr;
};

std::string node_text(const NodeProperties& node) {
  static const DeviceProfile kNone{.simd_per_cu = 0,
                                   .max_waves_per_simd = 0,
                                   .max_slots_scratch_cu = 0,
                                   .wave_front_size = 0,
                                   .sdma_engines = 0,
                                   .sdma_queues_per_engine = 0,
                                   .cp_queues = 0,
                                   .num_gws = 0};
  const bool is_gpu = node.gpu != nullptr;
  const DeviceProfile& gpu = is_gpu ? node.gpu->profile() : kNone;
  std::string text = properties({
      {"cpu_cores_count", node.cpu_cores},
      {"simd_count", gpu.simd_count()},
      {"mem_banks_count", node.mem_banks},
      {"caches_count", node.caches},
      {"io_links_count", node.io_links},
      {"p2p_links_count", node.p2p_links},
      {"cpu_core_id_base", 0},
      {"simd_id_base", is_gpu ? kSimdIdBase : 0},
      {"max_waves_per_simd", gpu.max_waves_per_simd},
      {"lds_size_in_kb", is_gpu ? gpu.target->lds_bytes / 1024 : 0},
      {"gds_size_in_kb", 0},
      {"num_gws", gpu.num_gws},
      {"wave_front_size", gpu.wave_front_size},
      {"array_count", is_gpu ? gpu.array_count() : 0},
      {"simd_arrays_per_engine", is_gpu ? gpu.arrays_per_engine : 0},
      {"cu_per_simd_array", is_gpu ? gpu.cu_per_array() : 0},
      {"simd_per_cu", gpu.simd_per_cu},
      {"max_slots_scratch_cu", gpu.max_slots_scratch_cu},
      {"gfx_target_version", is_gpu ? gpu.target->gfx_target_version : 0},
      {"vendor_id", is_gpu ? kAmdVendorId : 0},
      {"device_id", gpu.device_id},
      {"location_id", is_gpu ? node.gpu->pci().location_id() : 0},
      {"domain", is_gpu ? node.gpu->pci().domain : 0},
      {"drm_render_minor", is_gpu ? node.gpu->render_minor() : 0},
      {"hive_id", 0},
      {"num_sdma_engines", gpu.sdma_engines},
      {"num_sdma_xgmi_engines", gpu.sdma_xgmi_engines},
      {"num_sdma_queues_per_engine", gpu.sdma_queues_per_engine},
      {"num_cp_queues", gpu.cp_queues},
  });
  if (is_gpu)
    text += properties({{"max_engine_clk_fcompute", gpu.max_engine_clock_mhz},
                        {"local_mem_size", 0},
                        {"fw_version", gpu.mec_firmware},
                        {"capability", capability(gpu)},
                        {"debug_prop", debug_properties(gpu)},
                        {"sdma_fw_version", gpu.sdma_firmware},
                        {"unique_id", node.gpu->unique_id()},
                        {"num_xcc", 1}});
  return text + properties({{"max_engine_clk_ccompute", kHostEngineClock}});
}

void add_cpu_node(SysfsTree& tree, const Machine& machine) {
  const std::string path = node_path(0);
  const MachineProfile& profile = machine.profile();
  const auto gpus = static_cast<uint32_t>(machine.gpus().size());
  tree.add_file(path + "/gpu_id", "0\n");
  tree.add_file(path + "/name", "\n");
  // caches_count 0: the client takes the CPU's caches from the host's own sysfs.
  tree.add_file(path + "/properties",
                node_text({.cpu_cores = profile.host_cores, .mem_banks = 1, .io_links = gpus}));
  add_memory_bank(tree, 0, kHeapSystem, profile.host_memory_bytes, kHostMemoryBits,
                  kHostMemoryClock);
  tree.add_directory(path + "/caches");
  tree.add_directory(path + "/p2p_links");
  for (uint32_t i = 0; i < gpus; ++i) add_link(tree, "io_links", i, 0, i + 1, kLinkWeightPcie);
}

/// Links to the GPUs that can be reached through their large BAR.
uint32_t add_peer_links(SysfsTree& tree, const Machine& machine, const VirtualGpu& gpu) {
  uint32_t count = 0;
  for (const VirtualGpu& peer : machine.gpus()) {
    if (&peer == &gpu || !peer.profile().large_bar || peer.profile().apu) continue;
    add_link(tree, "p2p_links", count++, gpu.node_id(), peer.node_id(), 2 * kLinkWeightPcie);
  }
  return count;
}

void add_gpu_node(SysfsTree& tree, const Machine& machine, const VirtualGpu& gpu) {
  const uint32_t node = gpu.node_id();
  const std::string path = node_path(node);
  const DeviceProfile& profile = gpu.profile();
  tree.add_file(path + "/gpu_id", fmt::format("{}\n", gpu.gpu_id()));
  tree.add_file(path + "/name", fmt::format("{}\n", profile.node_name));
  add_memory_bank(tree, node, profile.large_bar ? kHeapFbPublic : kHeapFbPrivate,
                  profile.vram_bytes, profile.vram_bus_bits, profile.max_memory_clock_mhz);
  tree.add_directory(path + "/caches");
  tree.add_directory(path + "/p2p_links");
  add_link(tree, "io_links", 0, node, 0, kLinkWeightPcie);
  const uint32_t caches = add_caches(tree, node, profile);
  const uint32_t peers = add_peer_links(tree, machine, gpu);
  tree.add_file(
      path + "/properties",
      node_text(
          {.mem_banks = 1, .caches = caches, .io_links = 1, .p2p_links = peers, .gpu = &gpu}));
}

}  // namespace

void add_kfd_topology(SysfsTree& tree, const Machine& machine) {
  const std::string root = kTopologyRoot;
  tree.add_file(root + "/generation_id", "1\n");
  tree.add_file(root + "/system_properties",
                properties({{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}}));
  add_cpu_node(tree, machine);
  for (const VirtualGpu& gpu : machine.gpus()) add_gpu_node(tree, machine, gpu);
  tree.add_link(kTopologyClass, kTopologyDevice);
}

SysfsTree make_sysfs(const Machine& machine) {
  SysfsTree tree;
  const Persona* persona = machine.profile().persona.get();
  if (persona == nullptr) {
    add_kfd_topology(tree, machine);
    for (const VirtualGpu& gpu : machine.gpus()) add_pci_device(tree, gpu);
    return tree;
  }
  for (const auto& [path, content] : persona->files) tree.add_file(path, content);
  for (const std::string& path : persona->empty_directories) tree.add_directory(path);
  tree.add_link(kTopologyClass, kTopologyDevice);
  for (const VirtualGpu& gpu : machine.gpus()) add_pci_links(tree, gpu);
  return tree;
}

}  // namespace doppel::mock
