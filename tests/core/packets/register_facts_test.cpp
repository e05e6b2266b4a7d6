// Every register address and bit field against the kernel's register headers, both ways.
#include <map>

#include <gtest/gtest.h>

#include "core/packets/registers.h"
#include "tests/core/packets/shared_facts.h"

namespace doppel::packets {
namespace {

struct AddressColumn {
  const char* file;
  GfxFamily family;
  std::map<int, uint32_t> segment_base;  // of GC instance 0, ip_base_*.json
};

class RegisterFacts : public testing::TestWithParam<AddressColumn> {};

TEST_P(RegisterFacts, AddressesAndFieldsAgree) {
  const auto& [file, family, base] = GetParam();
  DOPPEL_SKIP_WITHOUT(file);
  const auto facts = test::load_json(file);
  size_t compared = 0;
  for (const RegisterRow& row : regs::rows()) {
    if (row.name.starts_with("BIF_")) continue;  // below
    const auto fact = facts.find("reg" + std::string(row.name));
    if (fact == facts.end()) {
      EXPECT_EQ(row.in(family), 0u) << row.name << " is in no header";
      continue;
    }
    EXPECT_EQ(row.in(family), base.at((*fact)["segment"]) + (*fact)["offset"].get<uint32_t>())
        << row.name;
    size_t present = 0;
    for (const Field& field : row.fields) {
      const FieldLocation& location = field.columns.in(family);
      present += location.present();
      const auto bits = (*fact)["fields"].find(field.name);
      if (bits == (*fact)["fields"].end()) {
        EXPECT_FALSE(location.present()) << row.name << "." << field.name;
        continue;
      }
      // The one bit in which gfx11.5, which shares gfx11's column, is narrower.
      if (family == GfxFamily::Gfx11_5 && field.name == "instance_index") continue;
      const unsigned low = (*bits)[0], high = (*bits)[1];
      EXPECT_EQ(location.mask, (~0ull >> (63 - high)) & (~0ull << low))
          << row.name << "." << field.name;
      ++compared;
    }
    EXPECT_EQ(present, (*fact)["fields"].size()) << row.name << " lacks a field";
  }
  EXPECT_GT(compared, 150u);
}

TEST_P(RegisterFacts, EveryComputeRegisterHasARow) {
  const auto& [file, family, base] = GetParam();
  DOPPEL_SKIP_WITHOUT(file);
  const auto facts = test::load_json(file);
  for (const auto& [name, fact] : facts.items()) {
    // Aliases of STATIC_THREAD_MGMT at the same address, and context-switch accumulators.
    if (name.find("DESTINATION_EN") != std::string::npos ||
        name.find("USER_ACCUM") != std::string::npos || !name.starts_with("regCOMPUTE_")) {
      continue;
    }
    EXPECT_NE(regs::find_register(name.substr(3)), nullptr) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Headers, RegisterFacts,
    testing::Values(
        AddressColumn{"hw/regs_gc_9_4_3.json", GfxFamily::Gfx9_4, {{0, 0x2000}, {1, 0xa000}}},
        AddressColumn{"hw/regs_gc_11_0_0.json", GfxFamily::Gfx11, {{0, 0x1260}, {1, 0xa000}}},
        AddressColumn{"hw/regs_gc_11_5_0.json", GfxFamily::Gfx11_5, {{0, 0x1260}, {1, 0xa000}}},
        AddressColumn{"hw/regs_gc_12_0_0.json", GfxFamily::Gfx12, {{0, 0x1260}, {1, 0xa000}}}),
    [](const auto& instance) {
      std::string name(to_string(instance.param.family));
      std::erase(name, '.');
      return name;
    });

TEST(BusRegisterFacts, HdpFlushAddressesAgree) {
  DOPPEL_SKIP_WITHOUT("hw/regs_hdp_nbio.json");
  constexpr uint32_t kSegment2 = 0xd20;
  const auto facts = test::load_json("hw/regs_hdp_nbio.json");
  const std::pair<const char*, GfxFamily> kBlocks[] = {{"nbio_7_9_0", GfxFamily::Gfx9_4},
                                                       {"nbio_4_3_0", GfxFamily::Gfx11},
                                                       {"nbif_6_3_1", GfxFamily::Gfx12}};
  for (const auto& [block, family] : kBlocks) {
    for (const RegisterRow* row :
         {&regs::BIF_BX_PF0_GPU_HDP_FLUSH_REQ, &regs::BIF_BX_PF0_GPU_HDP_FLUSH_DONE,
          &regs::BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL}) {
      const auto& fact = facts[block]["reg" + std::string(row->name)];
      EXPECT_EQ(fact["segment"], 2);
      EXPECT_EQ(row->in(family), kSegment2 + fact["offset"].get<uint32_t>()) << row->name;
    }
  }
}

// What differs on gfx10.3, from AMD PAL's merged register headers; the facts above have no gfx10.
TEST(RegisterFactsGfx10, WhatDiffersFromGfx11) {
  constexpr auto kFamily = GfxFamily::Gfx10_3;
  EXPECT_EQ(regs::ComputeTmpringSize::wavesize_field.in(kFamily).mask, 0x01fff000u);
  EXPECT_FALSE(regs::ComputePgmRsrc3::inst_pref_size_field.in(kFamily).present());
  EXPECT_FALSE(regs::ComputeDispatchInitiator::amp_shader_en_field.in(kFamily).present());
  EXPECT_EQ(regs::COMPUTE_PGM_RSRC3.in(kFamily), 0x2e28u);
  EXPECT_EQ(regs::COMPUTE_STATIC_THREAD_MGMT_SE4.in(kFamily), 0u);
  EXPECT_EQ(regs::COMPUTE_USER_DATA_0.in(kFamily), 0x2e40u);
}

}  // namespace
}  // namespace doppel::packets
