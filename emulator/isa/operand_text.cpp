#include "emulator/isa/operand_text.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace doppel::isa {
namespace {

struct Named {
  uint32_t value;
  std::string_view name;
};

template <size_t kCount>
std::string_view name_of(const std::array<Named, kCount>& names, uint32_t value) {
  for (const Named& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return {};
}

std::string range_text(std::string_view prefix, uint32_t first, uint32_t registers) {
  if (registers <= 1) return fmt::format("{}{}", prefix, first);
  return fmt::format("{}[{}:{}]", prefix, first, first + registers - 1);
}

constexpr std::array kSpecial = {Named{kSharedBase, "src_shared_base"},
                                 Named{kSharedLimit, "src_shared_limit"},
                                 Named{kPrivateBase, "src_private_base"},
                                 Named{kPrivateLimit, "src_private_limit"},
                                 Named{kPopsExitingWaveId, "src_pops_exiting_wave_id"},
                                 Named{kVccz, "src_vccz"},
                                 Named{kExecz, "src_execz"},
                                 Named{kScc, "src_scc"},
                                 Named{kLdsDirect, "src_lds_direct"}};

constexpr std::array<std::string_view, 8> kFloats = {"0.5", "-0.5", "1.0", "-1.0",
                                                     "2.0", "-2.0", "4.0", "-4.0"};

std::string inline_text(uint32_t code, OperandType type) {
  if (code < kInlineHalf) {
    return fmt::format("{}", static_cast<int32_t>(inline_constant(code, OperandType::I32)));
  }
  const bool integer16 = type == OperandType::I16 || type == OperandType::U16;
  if (integer16) return fmt::format("0x{:x}", inline_constant(code, OperandType::F16));
  if (code == kInlineInv2Pi) {
    return registers_of(type) == 2 ? "0.15915494309189532" : "0.15915494";
  }
  return std::string(kFloats[code - kInlineHalf]);
}

// Hardware registers, as LLVM names them.
constexpr std::array kHwRegs = {
    Named{1, "HW_REG_MODE"},          Named{2, "HW_REG_STATUS"},
    Named{3, "HW_REG_TRAPSTS"},       Named{5, "HW_REG_GPR_ALLOC"},
    Named{6, "HW_REG_LDS_ALLOC"},     Named{7, "HW_REG_IB_STS"},
    Named{15, "HW_REG_SH_MEM_BASES"}, Named{20, "HW_REG_FLAT_SCR_LO"},
    Named{21, "HW_REG_FLAT_SCR_HI"},  Named{23, "HW_REG_HW_ID1"},
    Named{24, "HW_REG_HW_ID2"},       Named{29, "HW_REG_SHADER_CYCLES"}};

std::string hwreg_text(uint32_t value) {
  const uint32_t id = value & 0x3f, offset = value >> 6 & 0x1f, width = (value >> 11 & 0x1f) + 1;
  const std::string_view known = name_of(kHwRegs, id);
  const std::string name = known.empty() ? fmt::format("{}", id) : std::string(known);
  if (offset == 0 && width == 32) return fmt::format("hwreg({})", name);
  return fmt::format("hwreg({}, {}, {})", name, offset, width);
}

// Messages without operation and stream.
constexpr std::array kMessagesGfx11 = {
    Named{1, "MSG_INTERRUPT"},          Named{2, "MSG_HS_TESSFACTOR"},
    Named{3, "MSG_DEALLOC_VGPRS"},      Named{5, "MSG_STALL_WAVE_GEN"},
    Named{6, "MSG_HALT_WAVES"},         Named{9, "MSG_GS_ALLOC_REQ"},
    Named{128, "MSG_RTN_GET_DOORBELL"}, Named{129, "MSG_RTN_GET_DDID"},
    Named{130, "MSG_RTN_GET_TMA"},      Named{131, "MSG_RTN_GET_REALTIME"},
    Named{132, "MSG_RTN_SAVE_WAVE"},    Named{133, "MSG_RTN_GET_TBA"}};
constexpr std::array kMessagesGfx10 = {
    Named{1, "MSG_INTERRUPT"},     Named{4, "MSG_SAVEWAVE"},        Named{5, "MSG_STALL_WAVE_GEN"},
    Named{6, "MSG_HALT_WAVES"},    Named{7, "MSG_ORDERED_PS_DONE"}, Named{9, "MSG_GS_ALLOC_REQ"},
    Named{10, "MSG_GET_DOORBELL"}, Named{11, "MSG_GET_DDID"}};

std::string message_text(uint32_t value, GfxFamily family) {
  const std::string_view name = family == GfxFamily::Gfx10_3 ? name_of(kMessagesGfx10, value)
                                                             : name_of(kMessagesGfx11, value);
  return name.empty() ? fmt::format("0x{:x}", value) : fmt::format("sendmsg({})", name);
}

/// Counters that are not at their maximum; all of them if all are.
std::string waitcnt_text(uint32_t value, GfxFamily family) {
  const bool old = family == GfxFamily::Gfx10_3;
  const uint32_t vm = old ? (value & 15) | (value >> 14 & 3) << 4 : value >> 10 & 63;
  const uint32_t exp = old ? value >> 4 & 7 : value & 7;
  const uint32_t lgkm = old ? value >> 8 & 63 : value >> 4 & 63;
  const uint32_t unused = old ? 0x0080 : 0x0008;
  if ((value & unused) != 0) return fmt::format("0x{:x}", value);
  const bool all = vm == 63 && exp == 7 && lgkm == 63;
  std::string text;
  const auto add = [&](std::string_view name, uint32_t count, uint32_t most) {
    if (count == most && !all) return;
    text += fmt::format("{}{}({})", text.empty() ? "" : " ", name, count);
  };
  add("vmcnt", vm, 63);
  add("expcnt", exp, 7);
  add("lgkmcnt", lgkm, 63);
  return text;
}

constexpr std::array<std::string_view, 12> kDelays = {
    "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",    "VALU_DEP_3",        "VALU_DEP_4",
    "TRANS32_DEP_1", "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1",
    "SALU_CYCLE_2",  "SALU_CYCLE_3"};
constexpr std::array<std::string_view, 6> kSkips = {"SAME",   "NEXT",   "SKIP_1",
                                                    "SKIP_2", "SKIP_3", "SKIP_4"};

std::string delay_text(uint32_t value) {
  const uint32_t first = value & 15, skip = value >> 4 & 7, second = value >> 7 & 15;
  const bool known = first < kDelays.size() && second < kDelays.size() && skip < kSkips.size();
  if (value == 0 || !known || value >> 11 != 0) return fmt::format("0x{:x}", value);
  std::string text;
  const auto add = [&](std::string_view name, std::string_view what) {
    text += fmt::format("{}{}({})", text.empty() ? "" : " | ", name, what);
  };
  if (first != 0) add("instid0", kDelays[first]);
  if (skip != 0) add("instskip", kSkips[skip]);
  if (second != 0) add("instid1", kDelays[second]);
  return text;
}

}  // namespace

std::string register_text(uint32_t code, uint32_t registers) {
  if (code < kVgpr0) code = aligned_sgpr(code, registers);
  if (code >= kVgpr0) return range_text("v", code - kVgpr0, registers);
  if (code < kSgprEnd) return range_text("s", code, registers);
  if (code >= kTtmp0 && code < kTtmpEnd) return range_text("ttmp", code - kTtmp0, registers);
  switch (code) {
    case kVccLo:
      return registers == 2 ? "vcc" : "vcc_lo";
    case kVccHi:
      return "vcc_hi";
    case kNull:
      return "null";
    case kM0:
      return "m0";
    case kExecLo:
      return registers == 2 ? "exec" : "exec_lo";
    case kExecHi:
      return "exec_hi";
    default:
      return fmt::format("<register {}>", code);
  }
}

std::string source_text(uint32_t code, OperandType type, uint32_t literal) {
  if (code == kLiteral) return fmt::format("0x{:x}", is_16bit(type) ? literal & 0xffff : literal);
  if (is_inline_constant(code)) return inline_text(code, type);
  const std::string_view special = name_of(kSpecial, code);
  if (!special.empty()) return std::string(special);
  return register_text(code, registers_of(type));
}

std::string mask_text(uint32_t code, bool wave64) {
  return register_text(code, wave64 ? 2 : 1);
}

std::string immediate_text(OperandType type, uint32_t value, GfxFamily family) {
  switch (type) {
    case OperandType::HwReg:
      return hwreg_text(value);
    case OperandType::SendMsg:
    case OperandType::SendMsgRtn:
      return message_text(value, family);
    case OperandType::WaitCnt:
      return waitcnt_text(value, family);
    case OperandType::DelayAlu:
      return delay_text(value);
    case OperandType::Imm16:
    case OperandType::OptionalImm16:
    case OperandType::Label:
      return fmt::format("{}", value);
    default:
      return fmt::format("0x{:x}", value);
  }
}

}  // namespace doppel::isa
