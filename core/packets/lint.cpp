#include "core/packets/lint.h"

#include <fmt/format.h>

namespace doppel::packets {

std::span<const LintRule> lint_rules() {
  // clang-format off
  static const LintRule kRules[] = {
#define RULE(language, Type, name, severity, condition, reason, hint)            \
  {name, Severity::severity,                                                     \
   &language::rows()[static_cast<size_t>(language::Id::Type)], reason, hint,     \
   [](const Packet& packet) {                                                    \
     using namespace language; /* the condition's enumerations */                \
     [[maybe_unused]] const auto p = packet.as<language::Type>();                \
     return static_cast<bool>(condition);                                        \
   }},
#include "core/packets/lint.inc"
#undef RULE
  };
  // clang-format on
  return kRules;
}

void lint(const Packet& packet, std::vector<Problem>& problems) {
  if (!packet.ok()) return;
  for (const LintRule& rule : lint_rules()) {
    if (rule.row != packet.row || !rule.matches(packet)) continue;
    Problem problem;
    problem.kind = ProblemKind::Lint;
    problem.severity = rule.severity;
    problem.rule = rule.name;
    problem.message = fmt::format("{} {}", rule.reason, rule.hint);
    problems.push_back(std::move(problem));
  }
}

}  // namespace doppel::packets
