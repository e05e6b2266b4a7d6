#include "emulator/isa/modifier_rules.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace doppel::isa {
namespace {

enum class Takes : uint8_t { ByType, No, Yes };
constexpr int kByType = -1;

struct Exception {
  std::string_view name;
  int neg;
  int abs;
  Takes clamp;
  Takes omod;
  uint8_t op_sel;
};

/// "_" in a row.
struct Default {
  constexpr operator int() const { return kByType; }
  constexpr operator Takes() const { return Takes::ByType; }
};
namespace rule_columns {
constexpr Default _;
using enum Takes;
constexpr std::array kExceptions = {
#define MODIFIER_RULE(name, neg, abs, clamp, omod, op_sel) \
  Exception{#name, neg, abs, clamp, omod, op_sel},
#include "emulator/isa/modifier_rules.inc"
#undef MODIFIER_RULE
};
}  // namespace rule_columns

bool is_float(OperandType type) {
  const OperandKind kind = info(type).kind;
  return kind == OperandKind::Float || kind == OperandKind::PackedFloat;
}

bool decide(Takes exception, bool by_type) {
  return exception == Takes::ByType ? by_type : exception == Takes::Yes;
}

ModifierRules make_rules(const Row& row) {
  static constexpr Exception kNone{"", kByType, kByType, Takes::ByType, Takes::ByType, 0};
  const auto* found = std::ranges::find(rule_columns::kExceptions, row.name, &Exception::name);
  const Exception& exception = found == rule_columns::kExceptions.end() ? kNone : *found;
  uint8_t floats = 0;
  uint8_t sources = 0;
  for (uint32_t i = 0; i < row.sources(); ++i) {
    if (row.has(Acc) && i + 1 == row.sources()) break;  // not encoded
    if (is_float(row.src[i])) floats |= 1u << i;
    if (row.src[i] != OperandType::Mask) sources |= 1u << i;
  }
  const bool any_float = floats != 0 || is_float(row.dst);
  ModifierRules rules;
  rules.neg = exception.neg == kByType ? floats : static_cast<uint8_t>(exception.neg);
  rules.abs = exception.abs == kByType ? floats : static_cast<uint8_t>(exception.abs);
  rules.clamp = decide(exception.clamp, any_float);
  rules.omod = decide(exception.omod, is_float(row.dst));
  rules.op_sel = exception.op_sel;
  rules.abs_ignored = rules.neg & ~rules.abs;
  const bool permutes = row.src[0] == OperandType::VgprOnly && row.sources() == 3;
  if (rules.op_sel == 0 || permutes || exception.clamp == Takes::No) {
    rules.op_sel_ignored = 0xf & ~rules.op_sel;
  }
  if (rules.op_sel != 0) {
    // The operands of 16-bit instructions have modifier bits, whatever their type.
    rules.neg_ignored = sources & ~rules.neg;
    rules.abs_ignored = sources & ~rules.abs;
  }
  return rules;
}

}  // namespace

const ModifierRules& modifier_rules(const Row& row) {
  static const std::vector<ModifierRules> all = [] {
    std::vector<ModifierRules> result;
    result.reserve(all_rows().size());
    for (const Row& each : all_rows()) result.push_back(make_rules(each));
    return result;
  }();
  return all[index_of(row)];
}

}  // namespace doppel::isa
