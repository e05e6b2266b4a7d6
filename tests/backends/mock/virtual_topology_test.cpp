// The sysfs tree: what topology readers of real clients parse.
#include <algorithm>
#include <cerrno>
#include <map>
#include <sstream>

#include "backends/mock/virtual_topology.h"
#include "tests/backends/mock/kernel_fixture.h"

namespace doppel::mock::testing {
namespace {

const std::string kNodes = std::string(kTopologyRoot) + "/nodes";

std::map<std::string, uint64_t> properties(VirtualKernel& kernel, const std::string& path) {
  std::map<std::string, uint64_t> values;
  auto text = kernel.read_file(path);
  EXPECT_TRUE(text.has_value()) << path;
  if (!text) return values;
  std::istringstream lines(*text);
  std::string key;
  uint64_t value = 0;
  while (lines >> key >> value) {
    EXPECT_TRUE(values.emplace(key, value).second) << key << " appears twice";
  }
  return values;
}

TEST(VirtualTopology, OneNodeForTheCpuAndOneForEachGpu) {
  Client client("mock:gfx1100,count=2");
  auto nodes = client.kernel->list_dir(kNodes);
  ASSERT_TRUE(nodes.has_value());
  EXPECT_EQ(*nodes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(*client.kernel->read_file(kNodes + "/0/gpu_id"), "0\n");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(*client.kernel->read_file(kNodes + "/" + std::to_string(i + 1) + "/gpu_id"),
              std::to_string(client.gpu(i)) + "\n");
}

TEST(VirtualTopology, Navi31LooksLikeOne) {
  Client client("mock:gfx1100");
  auto node = properties(*client.kernel, kNodes + "/1/properties");
  EXPECT_EQ(node["simd_count"], 192u);
  EXPECT_EQ(node["simd_per_cu"], 2u);
  EXPECT_EQ(node["array_count"], 12u);
  EXPECT_EQ(node["simd_arrays_per_engine"], 2u);
  EXPECT_EQ(node["max_waves_per_simd"], 16u);
  EXPECT_EQ(node["max_slots_scratch_cu"], 32u);
  EXPECT_EQ(node["lds_size_in_kb"], 64u);
  EXPECT_EQ(node["gfx_target_version"], 110000u);
  EXPECT_EQ(node["device_id"], 0x744cu);
  EXPECT_EQ(node["vendor_id"], 0x1002u);
  EXPECT_EQ(node["drm_render_minor"], 128u);
  EXPECT_EQ(node["num_xcc"], 1u);
  EXPECT_EQ(node["capability"] >> 12 & 3, 2u) << "doorbells of type 2";
  EXPECT_EQ(node["capability"] & 0x28000000, 0u) << "neither SVM nor debugger firmware";
  EXPECT_EQ(node["cpu_cores_count"], 0u);
}

TEST(VirtualTopology, CountsAgreeWithTheDirectories) {
  Client client("mock:gfx1030,cu=6,count=3");
  for (const char* node : {"0", "1", "2", "3"}) {
    const std::string path = kNodes + "/" + node;
    auto values = properties(*client.kernel, path + "/properties");
    for (const auto& [count, directory] : {std::pair{"mem_banks_count", "mem_banks"},
                                           {"caches_count", "caches"},
                                           {"io_links_count", "io_links"},
                                           {"p2p_links_count", "p2p_links"}}) {
      auto entries = client.kernel->list_dir(path + "/" + directory);
      ASSERT_TRUE(entries.has_value()) << path << directory;
      EXPECT_EQ(values[count], entries->size()) << path << " " << count;
    }
  }
  auto link = properties(*client.kernel, kNodes + "/1/p2p_links/0/properties");
  EXPECT_EQ(link["node_from"], 1u);
  EXPECT_EQ(link["node_to"], 2u);
}

TEST(VirtualTopology, MemoryBanksTellOfTheBar) {
  Client large("mock:gfx1100,vram=2GiB");
  auto bank = properties(*large.kernel, kNodes + "/1/mem_banks/0/properties");
  EXPECT_EQ(bank["heap_type"], 1u);
  EXPECT_EQ(bank["size_in_bytes"], uint64_t{2} << 30);
  Client small("mock:gfx1100,vram=2GiB,bar=small");
  EXPECT_EQ(properties(*small.kernel, kNodes + "/1/mem_banks/0/properties")["heap_type"], 2u);
}

TEST(VirtualTopology, CacheMapsCoverAllComputeUnits) {
  Client client("mock:gfx1100,cu=8");
  auto caches = client.kernel->list_dir(kNodes + "/1/caches");
  ASSERT_TRUE(caches.has_value());
  int l1_units = 0;
  int l2_units = 0;
  for (const std::string& cache : *caches) {
    auto text = client.kernel->read_file(kNodes + "/1/caches/" + cache + "/properties");
    const size_t map = text->find("sibling_map ");
    ASSERT_NE(map, std::string::npos);
    const auto units = std::count(text->begin() + static_cast<long>(map) + 12, text->end(), '1');
    if (text->find("level 1\nsize 32\n") != std::string::npos &&
        text->find("type 9\n") != std::string::npos)
      l1_units += static_cast<int>(units);
    if (text->find("level 2\n") != std::string::npos) l2_units += static_cast<int>(units);
  }
  EXPECT_EQ(l1_units, 8);
  EXPECT_EQ(l2_units, 8);
}

TEST(VirtualTopology, RenderNodesAreReachableByEveryName) {
  Client client("mock:gfx1100,count=2");
  for (const char* device :
       {"/sys/class/drm/renderD129/device", "/sys/dev/char/226:129/device",
        "/sys/bus/pci/devices/0000:04:00.0", "/sys/devices/pci0000:00/0000:04:00.0"}) {
    EXPECT_EQ(client.kernel->read_file(std::string(device) + "/vendor").value_or("?"), "0x1002\n")
        << device;
    EXPECT_EQ(client.kernel->read_file(std::string(device) + "/device").value_or("?"), "0x744c\n");
    EXPECT_TRUE(client.kernel->list_dir(std::string(device) + "/drm").has_value()) << device;
  }
}

TEST(VirtualTopology, IpDiscoveryNamesTheBlocks) {
  Client client("mock:gfx1100");
  const std::string die = "/sys/class/drm/renderD128/device/ip_discovery/die/0";
  const auto version = [&](const char* hw_id) {
    std::string text;
    for (const char* part : {"major", "minor", "revision"})
      text += client.kernel->read_file(die + "/" + hw_id + "/0/" + part).value_or("?");
    return text;
  };
  EXPECT_EQ(version("11"), "11\n0\n0\n");
  EXPECT_EQ(version("42"), "6\n0\n0\n");
  EXPECT_EQ(version("108"), "4\n3\n0\n");
  auto bases = client.kernel->read_file(die + "/11/0/base_addr");
  EXPECT_EQ(bases.value_or("?"), "0x00001260\n0x0000A000\n0x0001C000\n0x02402C00\n");
}

TEST(VirtualTopology, MissingFilesHaveTheKernelsErrno) {
  Client client;
  const auto os_error = [&](const std::string& path) {
    auto text = client.kernel->read_file(path);
    return text ? 0 : text.error().os_error();
  };
  EXPECT_EQ(os_error(kNodes + "/7/gpu_id"), ENOENT);
  EXPECT_EQ(os_error(kNodes), EISDIR);
  EXPECT_EQ(os_error(kNodes + "/0/gpu_id/x"), ENOTDIR);
  EXPECT_EQ(os_error("/sys/class/drm/renderD200/device/vendor"), ENOENT);
  EXPECT_EQ(os_error(""), EISDIR);
  EXPECT_FALSE(client.kernel->list_dir(kNodes + "/0/gpu_id").has_value());
}

}  // namespace
}  // namespace doppel::mock::testing
