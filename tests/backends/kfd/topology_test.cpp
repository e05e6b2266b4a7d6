#include "backends/kfd/topology.h"

#include <cerrno>
#include <map>

#include "tests/backends/kfd/scripted_kernel.h"

namespace doppel::kfd {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRoot = "/sys/devices/virtual/kfd/kfd/topology";

class TopologyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_["nodes/1/gpu_id"] = "51489\n";
    files_["nodes/1/properties"] += "unique_id 18446744073709551615\n";
    files_["nodes/1/caches/0/properties"] = "processor_id_low 1\nsibling_map 1,0,0,\nlevel 1\n";
    files_["nodes/1/io_links/0/properties"] = "type 2\nnode_from 1\nnode_to 0\nweight 20\n";
  }

  ScriptedKernel kernel_;
  std::map<std::string, std::string>& files_ = kernel_.files;
};

TEST_F(TopologyTest, ReadsNodesAndTheirFolders) {
  const auto topology = read_topology(kernel_);
  ASSERT_TRUE(topology) << topology.error().to_string();
  ASSERT_EQ(topology->nodes.size(), 2u);
  EXPECT_FALSE(topology->nodes[0].is_gpu());
  ASSERT_EQ(topology->gpus().size(), 1u);

  const TopologyNode& gpu = *topology->gpus()[0];
  EXPECT_EQ(gpu.gpu_id, 51489u);
  EXPECT_EQ(gpu.name, "gfx1100");
  EXPECT_EQ(gpu.gfx_name(), "gfx1100");
  ASSERT_NE(gpu.target(), nullptr);
  EXPECT_EQ(gpu.pci_address(), "0000:03:00.0");
  EXPECT_EQ(gpu.compute_units(), 96u);
  EXPECT_EQ(gpu.shader_engines(), 6u);
  EXPECT_EQ(gpu.visible_vram_bytes(), 25753026560u);
  EXPECT_EQ(gpu.properties["unique_id"], ~uint64_t{0});
  EXPECT_EQ(gpu.properties["a_key_of_a_later_kernel"], 0u);
  EXPECT_EQ(gpu.caches.size(), 1u);
  ASSERT_EQ(gpu.links.size(), 1u);
  EXPECT_EQ(gpu.links[0]["weight"], 20u);
}

TEST_F(TopologyTest, NodesComeInNumericOrder) {
  files_["nodes/10/gpu_id"] = "12\n";
  files_["nodes/10/properties"] = "simd_count 4\n";
  files_["nodes/2/gpu_id"] = "13\n";
  files_["nodes/2/properties"] = "simd_count 4\n";
  const auto topology = read_topology(kernel_);
  ASSERT_TRUE(topology);
  std::vector<uint32_t> ids;
  for (const TopologyNode& node : topology->nodes) ids.push_back(node.id);
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 10));
}

TEST_F(TopologyTest, ForbiddenNodeIsLeftOut) {
  EXPECT_CALL(kernel_, read_file(_)).Times(::testing::AnyNumber());
  EXPECT_CALL(kernel_, read_file(std::string(kRoot) + "/nodes/1/gpu_id"))
      .WillOnce([](const std::string& path) -> Result<std::string> {
        return error(StatusCode::System, path, EPERM);
      });
  const auto topology = read_topology(kernel_);
  ASSERT_TRUE(topology);
  EXPECT_TRUE(topology->gpus().empty());
}

TEST_F(TopologyTest, MissingTreeIsUnavailable) {
  files_.clear();
  const auto topology = read_topology(kernel_);
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code(), StatusCode::Unavailable);
}

TEST_F(TopologyTest, BadLineNamesFileAndLine) {
  files_["nodes/1/properties"] = "simd_count many\n";
  const auto topology = read_topology(kernel_);
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code(), StatusCode::Malformed);
  EXPECT_THAT(topology.error().message(), HasSubstr("nodes/1/properties"));
  EXPECT_THAT(topology.error().message(), HasSubstr("(simd_count many)"));
}

TEST_F(TopologyTest, ChangingTreeIsReadAgain) {
  int reads = 0;
  EXPECT_CALL(kernel_, read_file(_)).Times(::testing::AnyNumber());
  EXPECT_CALL(kernel_, read_file(std::string(kRoot) + "/generation_id"))
      .Times(4)
      .WillRepeatedly([&reads](const std::string&) -> Result<std::string> {
        return std::string(++reads == 1 ? "2\n" : "3\n");
      });
  EXPECT_TRUE(read_topology(kernel_));
}

TEST_F(TopologyTest, EverChangingTreeIsAnError) {
  int reads = 0;
  EXPECT_CALL(kernel_, read_file(_)).Times(::testing::AnyNumber());
  EXPECT_CALL(kernel_, read_file(std::string(kRoot) + "/generation_id"))
      .WillRepeatedly(
          [&reads](const std::string&) -> Result<std::string> { return std::to_string(++reads); });
  const auto topology = read_topology(kernel_);
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code(), StatusCode::System);
}

/// The kernel's own formula, worked out by hand for 96 CUs of gfx1100: 32 waves a CU, 12 bytes of
/// control stack each, 0x60000 of VGPRs, 0x4000 of SGPRs, 0x10000 of LDS, 0x1000 of registers.
TEST_F(TopologyTest, QueueBuffersFollowTheKernel) {
  const auto topology = read_topology(kernel_);
  ASSERT_TRUE(topology);
  const QueueBufferSizes sizes = topology->gpus()[0]->queue_buffers();
  EXPECT_EQ(sizes.eop_bytes, 4096u);
  EXPECT_EQ(sizes.control_stack_bytes, 0xa000u);  // 40 + 3072 * 12 + 8, rounded up
  EXPECT_EQ(sizes.context_save_restore_bytes, 0xa000u + 96 * 0x75000u);
  EXPECT_EQ(sizes.debug_bytes, 3072u * 32);
}

}  // namespace
}  // namespace doppel::kfd
