// GPU specifications and models.
#include <gtest/gtest.h>

#include <set>

#include "backends/mock/device_profile.h"
#include "backends/mock/machine.h"

namespace doppel::mock {
namespace {

TEST(MachineProfile, ParsesEverySetting) {
  auto machine = parse_machine(
      "mock:gfx1030,cu=8,vram=512MiB,count=3,seed=7,sdma=1,workers=2,bar=small,memory=8GiB,kfd=1."
      "17,instructions=9000");
  ASSERT_TRUE(machine.has_value()) << machine.error().to_string();
  ASSERT_EQ(machine->gpus.size(), 3u);
  const DeviceProfile& gpu = machine->gpus[2];
  EXPECT_EQ(gpu.target->name, "gfx1030");
  EXPECT_EQ(gpu.compute_units, 8u);
  EXPECT_EQ(gpu.vram_bytes, uint64_t{512} << 20);
  EXPECT_EQ(gpu.sdma_engines, 1u);
  EXPECT_FALSE(gpu.large_bar);
  EXPECT_EQ(machine->seed, 7u);
  EXPECT_EQ(machine->workers, 2u);
  EXPECT_EQ(machine->instruction_budget, 9000u);
  EXPECT_EQ(machine->host_memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(machine->kfd_minor_version, 17u);
}

TEST(MachineProfile, SchedulesAreDepthsOrFiles) {
  EXPECT_EQ(parse_machine("gfx1100,pct=3")->pct_depth, 3u);
  EXPECT_FALSE(parse_machine("gfx1100,pct=0"));
  EXPECT_FALSE(parse_machine("gfx1100,pct=65"));
  const auto missing = parse_machine("gfx1100,schedule=/nowhere/a.json");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().to_string().find("/nowhere/a.json"), std::string::npos);
}

TEST(MachineProfile, TheModelAloneIsEnough) {
  auto machine = parse_machine("gfx1100");
  ASSERT_TRUE(machine.has_value());
  ASSERT_EQ(machine->gpus.size(), 1u);
  EXPECT_EQ(machine->gpus[0].compute_units, 96u);
  EXPECT_EQ(machine->gpus[0].vram_bytes, uint64_t{24} << 30);
}

TEST(MachineProfile, ErrorsNameTheCulprit) {
  const auto message = [](const char* text) {
    auto machine = parse_machine(text);
    return machine ? std::string("accepted") : machine.error().message();
  };
  EXPECT_NE(message("mock:gfx9999").find("gfx9999"), std::string::npos);
  EXPECT_NE(message("mock:gfx9999").find("gfx1100"), std::string::npos) << "lists what there is";
  EXPECT_NE(message("mock:gfx1100,count=9").find("9"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,count=0").find("count"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,cu=x").find("(x)"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,vram=5XiB").find("vram"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,vram=99999999999999GiB").find("vram"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,speed=3").find("speed"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,cu").find("(cu)"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,").find("lacks its value"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,cu=2,,seed=1").find("lacks its value"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,cu=2,cu=4").find("twice (cu=4)"), std::string::npos);
  EXPECT_NE(message("mock:gfx1100,bar=tiny").find("tiny"), std::string::npos);
  EXPECT_NE(message(""), "accepted");
  EXPECT_NE(message("mock:"), "accepted");
}

class Models : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Models, AreConsistent) {
  auto found = find_device_profile(GetParam());
  ASSERT_TRUE(found.has_value());
  const DeviceProfile& gpu = *found;
  EXPECT_EQ(gpu.target->name, GetParam());
  EXPECT_EQ(gpu.compute_units % gpu.array_count(), 0u);
  EXPECT_LE(gpu.cu_per_array(), 16u) << "a CU bitmap word has 16 bits";
  EXPECT_LT(gpu.pci_revision, 256u);
  EXPECT_EQ(gpu.target->gfx_target_version / 10000, gpu.gc.major);
  EXPECT_TRUE(gpu.target->wave_sizes & gpu.wave_front_size);
  const kfd::QueueBufferSizes sizes = gpu.queue_buffers();
  EXPECT_GT(sizes.context_save_restore_bytes, sizes.control_stack_bytes);
  if (gpu.gc.major == 10) {
    EXPECT_LE(sizes.control_stack_bytes, 0x7000u);
  }
}

TEST_P(Models, FewComputeUnitsStillFormArrays) {
  for (uint32_t cus : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u}) {
    auto machine = parse_machine(std::string(GetParam()) + ",cu=" + std::to_string(cus));
    ASSERT_TRUE(machine.has_value());
    const DeviceProfile& gpu = machine->gpus[0];
    EXPECT_EQ(gpu.array_count() * gpu.cu_per_array(), cus);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Models, ::testing::ValuesIn(device_profile_names()),
                         [](const auto& info) { return std::string(info.param); });

TEST(Machine, GpuIdsAreDistinctAndStable) {
  Machine machine(*parse_machine("gfx1100,count=8"));
  Machine again(*parse_machine("gfx1100,count=8"));
  std::set<uint32_t> ids;
  for (size_t i = 0; i < 8; ++i) {
    const uint32_t id = machine.gpus()[i].gpu_id();
    EXPECT_NE(id, 0u);
    EXPECT_LT(id, 1u << 16);
    EXPECT_EQ(id, again.gpus()[i].gpu_id());
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 8u);
}

}  // namespace
}  // namespace doppel::mock
