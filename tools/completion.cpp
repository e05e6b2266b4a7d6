// doppel completion bash: a script that completes subcommands, options and files, made of the
// commands as they are.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands.h"

namespace doppel::tools {
namespace {

constexpr const char* kCompletionExamples = R"(Examples:
  source <(doppel completion bash)                        in this shell
  doppel completion bash > ~/.local/share/bash-completion/completions/doppel)";

/// Option names ("--gpu", "-o") and names of subcommands.
std::vector<std::string> words_of(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) {
    // Option groups are nameless subcommands.
    if (inner->get_name().empty() || inner->get_display_name().starts_with('[')) {
      const auto of_group = words_of(*inner);
      words.insert(words.end(), of_group.begin(), of_group.end());
    } else {
      words.push_back(inner->get_name());
    }
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  std::ranges::sort(words);
  const auto twins = std::ranges::unique(words);
  words.erase(twins.begin(), twins.end());
  return words;
}

std::string bash_script(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(),
                         fmt::join(words_of(*command), " "));
  }
  return fmt::format(R"(# bash completion of doppel
_doppel() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _doppel doppel
)",
                     fmt::join(words_of(app), " "), cases);
}

}  // namespace

void add_completion(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("completion", "Print a shell's completion script");
  command->footer(kCompletionExamples);
  auto shell = std::make_shared<std::string>("bash");
  command->add_option("shell", *shell, "Which shell")
      ->check(CLI::IsMember({"bash"}))
      ->capture_default_str();
  command->callback([&app, &status, shell] {
    fmt::print("{}", bash_script(app));
    status = 0;
  });
}

}  // namespace doppel::tools
