// SOP1, SOP2, SOPC, SOPK and SOPP.
#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "emulator/isa/text.h"

namespace doppel::isa {
namespace {

uint32_t immediate(const Text& text) {
  return text.instruction().format() == Format::SOP1 ? text.field(Field::Src0)
                                                     : text.field(Field::Simm16);
}

void print_wait_counts(Text& text, uint32_t counts) {
  // gfx11: expcnt 2:0, lgkmcnt 9:4, vmcnt 15:10. gfx10.3: vmcnt 15:14 and 3:0, expcnt 6:4,
  // lgkmcnt 13:8.
  struct Counter {
    const char* name;
    uint32_t value;
    uint32_t none;
  };
  const bool gfx10 = text.gfx10();
  const std::array counters = {
      Counter{"vmcnt", gfx10 ? (counts & 0xf) | (counts >> 14 & 3) << 4 : counts >> 10 & 0x3f,
              0x3f},
      Counter{"expcnt", gfx10 ? counts >> 4 & 7 : counts & 7, 7},
      Counter{"lgkmcnt", gfx10 ? counts >> 8 & 0x3f : counts >> 4 & 0x3f, 0x3f}};
  bool all_none = true;
  for (const Counter& counter : counters) all_none &= counter.value == counter.none;
  for (const Counter& counter : counters) {
    if (all_none || counter.value != counter.none) {
      text.raw(fmt::format(" {}({})", counter.name, counter.value));
    }
  }
}

/// hwreg(name, first bit, bits); gfx10.3 and gfx11 share the numbers that are named here.
void print_hardware_register(Text& text, uint32_t value) {
  struct Register {
    uint32_t id;
    std::string_view name;
  };
  static constexpr Register kRegisters[] = {
      {1, "HW_REG_MODE"},          {2, "HW_REG_STATUS"},       {3, "HW_REG_TRAPSTS"},
      {5, "HW_REG_GPR_ALLOC"},     {6, "HW_REG_LDS_ALLOC"},    {7, "HW_REG_IB_STS"},
      {15, "HW_REG_SH_MEM_BASES"}, {20, "HW_REG_FLAT_SCR_LO"}, {21, "HW_REG_FLAT_SCR_HI"},
      {23, "HW_REG_HW_ID1"},       {24, "HW_REG_HW_ID2"},      {29, "HW_REG_SHADER_CYCLES"}};
  const uint32_t id = value & 0x3f, first = value >> 6 & 0x1f, bits = (value >> 11 & 0x1f) + 1;
  const auto* known = std::ranges::find(kRegisters, id, &Register::id);
  text.begin_operand();
  text.raw(known == std::end(kRegisters) ? fmt::format("hwreg({}", id)
                                         : fmt::format("hwreg({}", known->name));
  text.raw(first == 0 && bits == 32 ? ")" : fmt::format(", {}, {})", first, bits));
}

struct Message {
  uint32_t id;
  std::string_view name;
};

std::string_view message_name(std::span<const Message> messages, uint32_t id) {
  const auto found = std::ranges::find(messages, id, &Message::id);
  return found == messages.end() ? std::string_view() : found->name;
}

constexpr Message kMessagesGfx11[] = {
    {1, "MSG_INTERRUPT"},          {2, "MSG_HS_TESSFACTOR"},   {3, "MSG_DEALLOC_VGPRS"},
    {5, "MSG_STALL_WAVE_GEN"},     {6, "MSG_HALT_WAVES"},      {9, "MSG_GS_ALLOC_REQ"},
    {128, "MSG_RTN_GET_DOORBELL"}, {129, "MSG_RTN_GET_DDID"},  {130, "MSG_RTN_GET_TMA"},
    {131, "MSG_RTN_GET_REALTIME"}, {132, "MSG_RTN_SAVE_WAVE"}, {133, "MSG_RTN_GET_TBA"},
    {134, "MSG_RTN_GET_TBA_TO_PC"}};
constexpr Message kMessagesGfx10[] = {
    {1, "MSG_INTERRUPT"},    {4, "MSG_SAVEWAVE"},        {5, "MSG_STALL_WAVE_GEN"},
    {6, "MSG_HALT_WAVES"},   {7, "MSG_ORDERED_PS_DONE"}, {8, "MSG_EARLY_PRIM_DEALLOC"},
    {9, "MSG_GS_ALLOC_REQ"}, {10, "MSG_GET_DOORBELL"},   {11, "MSG_GET_DDID"}};

/// gfx10.3's messages to the geometry shader and the system have an operation (bits 6:4), the
/// former a stream (9:8).
std::string geometry_message(uint32_t value) {
  constexpr uint32_t kSystem = 15;
  constexpr std::string_view kSystemOperations[] = {"SYSMSG_OP_ECC_ERR_INTERRUPT",
                                                    "SYSMSG_OP_REG_RD", "", "SYSMSG_OP_TTRACE_PC"};
  constexpr std::string_view kOperations[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT",
                                              "GS_OP_EMIT_CUT"};
  const uint32_t id = value & 0xf, operation = value >> 4 & 7, stream = value >> 8 & 3;
  const bool is_done = id == 3;
  if (id == kSystem && operation - 1 < std::size(kSystemOperations) && stream == 0) {
    const auto name = kSystemOperations[operation - 1];
    return name.empty() ? "" : fmt::format("MSG_SYSMSG, {}", name);
  }
  const bool known = (id == 2 && operation != 0) || is_done;
  if (!known || operation >= std::size(kOperations)) return {};
  if (operation == 0) return stream == 0 ? "MSG_GS_DONE, GS_OP_NOP" : "";
  return fmt::format("{}, {}, {}", is_done ? "MSG_GS_DONE" : "MSG_GS", kOperations[operation],
                     stream);
}

/// A message by its name, where it has one; bits that it has no use for are ignored.
void print_message(Text& text, uint32_t value) {
  std::string message;
  if (!text.gfx10()) {
    message = message_name(kMessagesGfx11, value & 0xff);
  } else if ((value & 0x370) == 0 && (value & 0xf) != 3) {
    message = message_name(kMessagesGfx10, value & 0xf);
  } else {
    message = geometry_message(value);
  }
  if (message.empty()) {
    text.hex_immediate(value);
    return;
  }
  text.begin_operand();
  text.raw(fmt::format("sendmsg({})", message));
}

/// S_DELAY_ALU: what the next instruction depends on, and one of those behind it.
void print_delay(Text& text, uint32_t value) {
  constexpr std::string_view kIds[] = {"NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",
                                       "VALU_DEP_3",    "VALU_DEP_4",    "TRANS32_DEP_1",
                                       "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1",
                                       "SALU_CYCLE_1",  "SALU_CYCLE_2",  "SALU_CYCLE_3"};
  constexpr std::string_view kSkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  const auto name = [&](std::span<const std::string_view> names, uint32_t index) {
    text.require(index < names.size());
    return index < names.size() ? names[index] : std::string_view();
  };
  const uint32_t first = value & 0xf, skip = value >> 4 & 7, second = value >> 7 & 0xf;
  std::string parts;
  const auto add = [&](std::string_view key, std::string_view part) {
    parts += fmt::format("{}{}({})", parts.empty() ? " " : " | ", key, part);
  };
  if (first != 0 || (skip | second) == 0) add("instid0", name(kIds, first));
  if (skip != 0) add("instskip", name(kSkips, skip));
  if (second != 0) add("instid1", name(kIds, second));
  text.raw(parts);
}

void print_immediate(Text& text, OperandType type) {
  const uint32_t value = immediate(text);
  switch (type) {
    case OperandType::Label:
      text.decimal_immediate(static_cast<int16_t>(value));
      break;
    case OperandType::OptionalImm16:
      if (value != 0) text.decimal_immediate(value);
      break;
    case OperandType::Imm16:
      text.decimal_immediate(value);
      break;
    case OperandType::HwReg:
      print_hardware_register(text, value);
      break;
    case OperandType::WaitCnt:
      print_wait_counts(text, value);
      break;
    case OperandType::SendMsg:
    case OperandType::SendMsgRtn:
      print_message(text, value);
      break;
    case OperandType::DelayAlu:
      print_delay(text, value);
      break;
    default:
      text.hex_immediate(value);
      break;
  }
}

/// Sources that the encoding has, in order; what a row reads from its destination is not repeated.
void print_sop_sources(Text& text) {
  const Row& row = *text.instruction().row;
  const Encoding& encoding = *text.instruction().encoding;
  constexpr std::array kFields = {Field::Src0, Field::Src1};
  uint32_t encoded = 0;
  for (uint32_t i = 0; i < row.sources(); ++i) {
    if (info(row.src[i]).kind == OperandKind::Immediate) {
      print_immediate(text, row.src[i]);
    } else if ((row.has(KMul) && i == 1) || (row.has(KAdd) && i == 2)) {
      text.literal();
    } else if (encoded < kFields.size() && encoding.has(kFields[encoded])) {
      const uint32_t code = text.field(kFields[encoded++]);
      text.require(code != kLdsDirect);
      text.source(code, row.src[i]);
    }
  }
}

void print_sopk(Text& text) {
  const Row& row = *text.instruction().row;
  const bool reads_register = row.dst == OperandType::None && !row.has(KAdd) &&
                              (row.src[0] == OperandType::B32 || row.src[1] == OperandType::B32);
  if (row.dst != OperandType::None) {
    text.sgpr(text.field(Field::Dst), registers_of(row.dst));
  }
  if (reads_register && row.src[0] == OperandType::B32) text.sgpr(text.field(Field::Dst), 1);
  for (OperandType type : row.src) {
    if (info(type).kind == OperandKind::Immediate) print_immediate(text, type);
  }
  if (reads_register && row.src[1] == OperandType::B32) text.sgpr(text.field(Field::Dst), 1);
  if (row.has(KAdd)) text.literal();
}

}  // namespace

void print_scalar(Text& text) {
  const Instruction& instruction = text.instruction();
  const Row& row = *instruction.row;
  text.mnemonic(row.name_in(instruction.family));
  switch (instruction.format()) {
    case Format::SOPP:
      for (uint32_t i = 0; i < row.sources(); ++i) print_immediate(text, row.src[i]);
      if (row.sources() == 0) text.require(text.field(Field::Simm16) == 0);
      break;
    case Format::SOPK:
      print_sopk(text);
      break;
    default:
      if (row.dst != OperandType::None) {
        text.sgpr(text.field(Field::Dst), registers_of(row.dst));
      }
      print_sop_sources(text);
      break;
  }
}

}  // namespace doppel::isa
