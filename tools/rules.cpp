// doppel rules [NAME] [--markdown]: what `doppel run --verify` and Verify check.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "core/verify/rule.h"
#include "tools/commands.h"

namespace doppel::tools {
namespace {

constexpr const char* kRulesExamples = R"(Examples:
  doppel rules                                     all of them, a line each
  doppel rules read-after-write                    why, how to mend it, an example)";

struct RulesOptions {
  std::string name;
  bool markdown = false;
};

void print_rule(const verify::Rule& rule) {
  fmt::print("{} ({}, {})\n  {}\n  why: {}\n  fix: {}\n  example: {}\n", rule.name,
             to_string(rule.category), packets::to_string(rule.severity), rule.title, rule.reason,
             rule.fix, rule.example);
}

int run_rules(const RulesOptions& options) {
  if (options.markdown) {
    fmt::print("{}", verify::rules_markdown());
    return 0;
  }
  if (!options.name.empty()) {
    const verify::Rule* rule = verify::find_rule(options.name);
    if (rule == nullptr) {
      fmt::print(stderr, "doppel rules: There is no such rule ({}).\n", options.name);
      return 2;
    }
    print_rule(*rule);
    return 0;
  }
  for (const verify::Rule& rule : verify::rules()) {
    fmt::print("{:<26} {:<10} {}\n", rule.name, to_string(rule.category), rule.title);
  }
  return 0;
}

}  // namespace

void add_rules(CLI::App& app, int& status) {
  auto options = std::make_shared<RulesOptions>();
  CLI::App* command = app.add_subcommand("rules", "List what is checked, and explain a rule");
  command->footer(kRulesExamples);
  command->add_option("name", options->name, "A rule");
  command->add_flag("--markdown", options->markdown, "All of them, as docs/rules.md");
  command->callback([options, &status] { status = run_rules(*options); });
}

}  // namespace doppel::tools
