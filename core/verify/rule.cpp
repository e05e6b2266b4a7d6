#include "core/verify/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace doppel::verify {
namespace {

// clang-format off
constexpr Rule kRules[] = {
#define RULE(Id, name, category, severity, ...) \
  {RuleId::Id, name, Category::category, Severity::severity, __VA_ARGS__},
#include "core/verify/rules.inc"
#undef RULE
};
// clang-format on

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (static_cast<size_t>(kRules[i].id) != i) return false;
  }
  return true;
}
static_assert(in_order());

struct Chapter {
  Category category;
  std::string_view title;
  std::string_view text;
};

constexpr Chapter kChapters[] = {
    {Category::Hazard, "Hazards", "Two accesses of the same bytes that nothing orders."},
    {Category::Coherence, "Coherence", "Ordered accesses between which a cache stands."},
    {Category::Progress, "Progress", "Waits that never end."},
    {Category::Lifetime, "Lifetime",
     "Memory that is not there, not there any more, or not filled."},
    {Category::Lint, "Packets and dispatches", "What hardware ignores, refuses or misreads."},
    {Category::Schedule, "Schedules", "Results that depend on the order in which units run."},
};

void add_rule(std::string& text, const Rule& rule) {
  fmt::format_to(std::back_inserter(text), "### {}\n\n**{}** {}\n\n{}\n\n*Fix:* {}\n\n", rule.name,
                 packets::to_string(rule.severity), rule.title, rule.reason, rule.fix);
  fmt::format_to(std::back_inserter(text), "*Example:*\n\n```\n{}\n```\n\n", rule.example);
}

}  // namespace

std::string_view to_string(Category category) {
  switch (category) {
    case Category::Hazard:
      return "hazard";
    case Category::Coherence:
      return "coherence";
    case Category::Progress:
      return "progress";
    case Category::Lifetime:
      return "lifetime";
    case Category::Lint:
      return "lint";
    case Category::Schedule:
      return "schedule";
  }
  return "?";
}

std::span<const Rule> rules() {
  return kRules;
}

const Rule& rule(RuleId id) {
  return kRules[static_cast<size_t>(id)];
}

const Rule* find_rule(std::string_view name) {
  const auto* found = std::ranges::find(kRules, name, &Rule::name);
  return found == std::end(kRules) ? nullptr : found;
}

std::string rules_markdown() {
  std::string text =
      "# Rules\n\nWhat the checkers look for. A finding names its rule; a suppression silences a "
      "rule\n(`RULE [WHERE] # reason`, one a line). Generated from `core/verify/rules.inc` by "
      "`doppel rules`.\n\n";
  for (const Chapter& chapter : kChapters) {
    if (std::ranges::find(kRules, chapter.category, &Rule::category) == std::end(kRules)) continue;
    fmt::format_to(std::back_inserter(text), "## {}\n\n{}\n\n", chapter.title, chapter.text);
    for (const Rule& rule : kRules) {
      if (rule.category == chapter.category) add_rule(text, rule);
    }
  }
  text.pop_back();
  return text;
}

}  // namespace doppel::verify
