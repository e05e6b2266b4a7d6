// Every opcode, field and named value of the PM4 rows against the kernel's packet headers. The
// headers give no dword order, so a field's bits are compared, not its dword; that comes from the
// captured streams and the encoders' dwords.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/packets/pm4.h"
#include "core/packets/registers.h"
#include "tests/core/packets/shared_facts.h"

namespace doppel::packets {
namespace {

class Pm4Facts : public testing::TestWithParam<test::FactFile> {
 protected:
  static const PacketRow* row_of(std::string_view name) {
    for (const PacketRow& row : pm4::rows()) {
      if (row.name == name) return &row;
    }
    return nullptr;
  }
  static const Field* field_of(const PacketRow& row, std::string_view name) {
    for (const Field& field : row.fields) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }
};

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
  return text;
}

enum class Part { Whole, Low, High };

struct Alias {
  const char* field;
  Part part = Part::Whole;
};

/// Header names that a row spells otherwise: "PACKET.FIELD" of the header -> the row's field.
const std::map<std::string, Alias> kAliases = {
    {"ATOMIC_MEM.ADDR_LO", {"address", Part::Low}},
    {"ATOMIC_MEM.ADDR_HI", {"address", Part::High}},
    {"ATOMIC_MEM.SRC_DATA_LO", {"src_data", Part::Low}},
    {"ATOMIC_MEM.SRC_DATA_HI", {"src_data", Part::High}},
    {"ATOMIC_MEM.CMP_DATA_LO", {"cmp_data", Part::Low}},
    {"ATOMIC_MEM.CMP_DATA_HI", {"cmp_data", Part::High}},
    {"WRITE_DATA.RESUME_VF_MI300", {"resume_vf"}},
    {"WRITE_DATA.DST_MEM_ADDR_LO", {"address", Part::Low}},
    {"WRITE_DATA.DST_MEM_ADDR_HI", {"address", Part::High}},
    {"WRITE_DATA.DST_MMREG_ADDR_LO", {"dst_mmreg_addr"}},
    {"WRITE_DATA.DST_MMREG_ADDR_HI", {"dst_mmreg_addr_hi"}},
    {"WAIT_REG_MEM.MEM_POLL_ADDR_LO", {"address", Part::Low}},
    {"WAIT_REG_MEM.MEM_POLL_ADDR_HI", {"address", Part::High}},
    {"INDIRECT_BUFFER.IB_BASE_LO", {"ib_base", Part::Low}},
    {"INDIRECT_BUFFER.IB_BASE_HI", {"ib_base", Part::High}},
    {"COPY_DATA.SRC_32B_ADDR_LO", {"src_address", Part::Low}},
    {"COPY_DATA.SRC_MEMTC_ADDR_HI", {"src_address", Part::High}},
    {"COPY_DATA.SRC_GDS_ADDR_LO", {"src_gds_addr"}},
    {"COPY_DATA.IMM_DATA", {"imm_data", Part::Low}},
    {"COPY_DATA.SRC_IMM_DATA", {"imm_data", Part::High}},
    {"COPY_DATA.DST_32B_ADDR_LO", {"dst_address", Part::Low}},
    {"COPY_DATA.DST_ADDR_HI", {"dst_address", Part::High}},
    {"COPY_DATA.DST_GDS_ADDR_LO", {"dst_gds_addr"}},
    {"COPY_DATA.SRC_REG_OFFSET_LO", {"src_reg_offset"}},
    {"COPY_DATA.SRC_REG_OFFSET_HI", {"src_reg_offset_hi"}},
    {"COPY_DATA.DST_REG_OFFSET_LO", {"dst_reg_offset"}},
    {"COPY_DATA.DST_REG_OFFSET_HI", {"dst_reg_offset_hi"}},
    {"EVENT_WRITE.ADDRESS_LO", {"address", Part::Low}},
    {"EVENT_WRITE.ADDRESS_HI", {"address", Part::High}},
    {"ACQUIRE_MEM.COHER_SIZE", {"coher_size", Part::Low}},
    {"ACQUIRE_MEM.COHER_BASE_LO", {"coher_base", Part::Low}},
    {"ACQUIRE_MEM.COHER_BASE_HI", {"coher_base", Part::High}},
};

/// Facts that are no field of ours, each with why.
const std::map<std::string, const char*> kNotCompared = {
    {"COPY_DATA.SRC_64B_ADDR_LO", "an alignment of the same field, given by COUNT_SEL"},
    {"COPY_DATA.DST_64B_ADDR_LO", "an alignment of the same field, given by COUNT_SEL"},
    {"ACQUIRE_MEM.COHER_SIZE_HI", "clients set all 32 bits; hardware takes 8"},
    {"ACQUIRE_MEM.COHER_SIZE_HI_VG10", "clients set all 32 bits; hardware takes 24"},
    {"ACQUIRE_MEM.GCR_CNTL", "its bits are fields of their own, compared below"},
    {"WRITE_DATA.AID_ID", "one bit lower than in COPY_DATA, in PAL and in TEMPORAL's own place"},
    {"WRITE_DATA.TEMPORAL", "as AID_ID"},
    {"EVENT_WRITE.OFFLOAD_ENABLE", "nvd.h lacks the shift that soc15d.h and PAL have"},
};

TEST_P(Pm4Facts, FieldsAgree) {
  const auto& [file, family] = GetParam();
  DOPPEL_SKIP_WITHOUT(file);
  size_t compared = 0;
  const auto facts = test::load_json(file);
  for (const auto& [packet, fields] : facts["fields"].items()) {
    const PacketRow* row = row_of(packet);
    ASSERT_NE(row, nullptr) << packet;
    for (const auto& [name, fact] : fields.items()) {
      const std::string key = packet + "." + name;
      if (kNotCompared.contains(key)) continue;
      // soc15d.h masks the operation to 6 bits; operations without a return value need 7.
      if (key == "ATOMIC_MEM.ATOMIC" && family == GfxFamily::Gfx9_4) continue;
      const auto alias = kAliases.find(key);
      const std::string field_name = alias == kAliases.end() ? lower(name) : alias->second.field;
      const Part part = alias == kAliases.end() ? Part::Whole : alias->second.part;
      const Field* field = field_of(*row, field_name);
      ASSERT_NE(field, nullptr) << key;
      const FieldLocation& location = field->columns.in(family);
      // nvd.h is of three generations: a field may be absent in one of them.
      if (!location.present()) continue;
      // gfx12 widened register numbers to a dword and a part of the next.
      if (field->kind == FieldKind::Register &&
          name.ends_with("_LO") != (location.max() > 0x3ffff)) {
        continue;
      }
      uint64_t bits = fact["mask"].get<uint64_t>() << fact["shift"].get<unsigned>();
      uint64_t ours = location.mask;
      if (part == Part::High) ours >>= 32;
      // A row's address keeps the bits below its alignment, to complain about them.
      if (part == Part::Low) {
        ours &= 0xffffffff & ~uint64_t{field->align - 1};
        bits &= ~uint64_t{field->align - 1};
      }
      EXPECT_EQ(ours, bits) << key;
      ++compared;
    }
  }
  EXPECT_GT(compared, 60u);
}

TEST_P(Pm4Facts, OpcodesAgree) {
  const auto& [file, family] = GetParam();
  DOPPEL_SKIP_WITHOUT(file);
  const auto facts = test::load_json(file)["opcodes_and_register_ranges"];
  for (const PacketRow& row : pm4::rows()) {
    EXPECT_EQ(row.opcode, facts[std::string(row.name)].get<int>()) << row.name;
    EXPECT_EQ(pm4::opcode_name(row.opcode, family), row.name);
  }
  EXPECT_EQ(regs::kShBase, facts["SET_SH_REG_START"].get<uint32_t>());
  EXPECT_EQ(regs::kShEnd, facts["SET_SH_REG_END"].get<uint32_t>());
  EXPECT_EQ(regs::kUconfigBase, facts["SET_UCONFIG_REG_START"].get<uint32_t>());
  // Opcodes that are known by name alone.
  for (const auto& [name, code] : facts.items()) {
    if (code.get<uint32_t>() > 255 || name.ends_with("_START")) continue;
    EXPECT_NE(pm4::opcode_name(code, family), "") << name;
  }
}

TEST_P(Pm4Facts, NamedValuesAgree) {
  const auto& [file, family] = GetParam();
  DOPPEL_SKIP_WITHOUT(file);
  // A value that the headers and PAL name differently, or two headers do.
  const std::set<std::string> kOtherNames = {"COPY_DATA.TC_L2_OBSOLETE",
                                             "EVENT_WRITE.SAMPLE_PIPELINESTATS"};
  size_t compared = 0;
  const auto facts = test::load_json(file);
  for (const auto& [packet, enums] : facts["enums"].items()) {
    const PacketRow* row = row_of(packet);
    for (const auto& [name, values] : enums.items()) {
      const Field* field = field_of(*row, lower(name));
      ASSERT_NE(field, nullptr) << packet << "." << name;
      if (field->kind != FieldKind::Enum) continue;  // a flag or a plain number of ours
      for (const auto& [value_name, value] : values.items()) {
        // Streamout statistics are of the graphics pipe, which a compute queue has not.
        if (value_name.starts_with("SAMPLE_STREAMOUT")) continue;
        const auto known =
            std::ranges::find(field->values, value.get<uint32_t>(), &EnumValue::value);
        ASSERT_NE(known, field->values.end()) << packet << "." << name << "." << value_name;
        if (!kOtherNames.contains(packet + "." + value_name)) {
          EXPECT_EQ(known->name, value_name);
        }
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 30u);
}

TEST_P(Pm4Facts, FlagBitsAgree) {
  const auto& [file, family] = GetParam();
  DOPPEL_SKIP_WITHOUT(file);
  const std::pair<const char*, const char*> kPrefixes[] = {
      {"RELEASE_MEM_", "RELEASE_MEM"},
      {"EOP_", "RELEASE_MEM"},
      {"ACQUIRE_MEM_GCR_CNTL_", "ACQUIRE_MEM"},
      {"ACQUIRE_MEM_CP_COHER_CNTL_", "ACQUIRE_MEM"},
  };
  const std::map<std::string, std::string> kNames = {
      {"RELEASE_MEM_EXECUTE", "pq_exe_status"},
      {"EOP_EXEC", "pq_exe_status"},
      {"EOP_TCL1_VOL_ACTION_EN", "tcl1_vol_action_ena"},
      {"EOP_TC_VOL_ACTION_EN", "tc_vol_action_ena"},
      {"EOP_TC_WB_ACTION_EN", "tc_wb_action_ena"},
      {"EOP_TCL1_ACTION_EN", "tcl1_action_ena"},
      {"EOP_TC_ACTION_EN", "tc_action_ena"},
      {"EOP_TC_NC_ACTION_EN", "tc_nc_action_ena"},
      {"EOP_TC_MD_ACTION_EN", "tc_md_action_ena"},
  };
  size_t compared = 0;
  const auto facts = test::load_json(file);
  for (const auto& [name, fact] : facts["flag_bits"].items()) {
    for (const auto& [prefix, packet] : kPrefixes) {
      if (!name.starts_with(prefix)) continue;
      const PacketRow* row = row_of(packet);
      const auto alias = kNames.find(name);
      std::string field_name = alias != kNames.end()
                                   ? alias->second
                                   : lower(name.substr(std::string_view(prefix).size()));
      if (std::string_view(prefix) == "ACQUIRE_MEM_GCR_CNTL_") field_name = "gcr_" + field_name;
      const Field* field = field_of(*row, field_name);
      ASSERT_NE(field, nullptr) << name;
      const FieldLocation& location = field->columns.in(family);
      if (!location.present()) continue;
      const unsigned shift = fact.contains("bit") ? fact["bit"] : fact["shift"];
      EXPECT_EQ(location.shift, shift) << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 15u);
}

INSTANTIATE_TEST_SUITE_P(
    Headers, Pm4Facts,
    testing::Values(test::FactFile{"hw/pm4_gfx9.json", GfxFamily::Gfx9_4},
                    test::FactFile{"hw/pm4_gfx10_gfx11_gfx12.json", GfxFamily::Gfx10_3},
                    test::FactFile{"hw/pm4_gfx10_gfx11_gfx12.json", GfxFamily::Gfx11},
                    test::FactFile{"hw/pm4_gfx10_gfx11_gfx12.json", GfxFamily::Gfx12}),
    [](const auto& instance) {
      std::string name(to_string(instance.param.family));
      std::erase(name, '.');
      return name;
    });

}  // namespace
}  // namespace doppel::packets
