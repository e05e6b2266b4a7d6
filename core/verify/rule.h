// Rules: what the checkers know to be wrong. One row of rules.inc is one rule: its name, severity,
// reason with source, fix hint and example; docs/rules.md is generated from the same rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/packets/packet.h"

namespace doppel::verify {

using packets::Severity;

enum class Category : uint8_t { Hazard, Coherence, Progress, Lifetime, Lint, Schedule };

/// "hazard", "coherence" and so on.
std::string_view to_string(Category category);

// clang-format off
enum class RuleId : uint8_t {
#define RULE(Id, ...) Id,
#include "core/verify/rules.inc"
#undef RULE
};
// clang-format on

struct Rule {
  RuleId id;
  std::string_view name;  // "read-after-write"; what a suppression names
  Category category;
  Severity severity;
  std::string_view title;    // what is wrong, a full sentence
  std::string_view reason;   // why it is wrong, and who says so
  std::string_view fix;      // what to do, imperative
  std::string_view example;  // the shortest program that breaks the rule
};

/// All rules, in the order of rules.inc, which is that of RuleId.
std::span<const Rule> rules();
const Rule& rule(RuleId id);
/// The rule of that name, or nullptr.
const Rule* find_rule(std::string_view name);

/// docs/rules.md: every rule with its reason, fix and example.
std::string rules_markdown();

}  // namespace doppel::verify
