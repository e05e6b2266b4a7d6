// The completion script in a real bash.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/tools/shell.h"

namespace doppel::testing {
namespace {

/// What is offered for the words of a command line, the last one unfinished.
std::string complete(const std::string& words) {
  return shell(fmt::format("bash -c 'eval \"$({} completion bash)\"; COMP_WORDS=({}); "
                           "COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _doppel; "
                           "echo \" ${{COMPREPLY[*]}} \"'",
                           doppel_command(), words))
      .output;
}

TEST(Completion, OffersSubcommands) {
  const std::string all = complete("doppel \"\"");
  for (const char* command : {"decode", "selftest", "exec", "profile", "compare", "record",
                              "replay", "run", "info", "completion"}) {
    EXPECT_NE(all.find(fmt::format(" {} ", command)), std::string::npos) << command << all;
  }
  EXPECT_EQ(complete("doppel self"), " selftest \n");
}

TEST(Completion, OffersOptionsOfTheSubcommand) {
  EXPECT_EQ(complete("doppel replay --co"), " --compare \n");
  EXPECT_EQ(complete("doppel decode --sd"), " --sdma \n") << "an option of a group";
  EXPECT_EQ(complete("doppel profile du"), " dump \n");
  EXPECT_EQ(complete("doppel exec --nonsense"), "  \n");
}

TEST(Completion, OffersFiles) {
  EXPECT_EQ(complete("doppel decode /proc/self/cmdl"), " /proc/self/cmdline \n");
}

TEST(Completion, OtherShellsAreRefused) {
  EXPECT_NE(shell(doppel_command() + " completion tcsh 2>&1").status, 0);
}

/// Every subcommand explains itself by example.
TEST(Help, HasExamplesOfEachCommand) {
  std::istringstream help(shell(doppel_command() + " --help").output);
  std::string line;
  while (std::getline(help, line) && !line.starts_with("Subcommands:")) continue;
  int commands = 0;
  while (std::getline(help, line) && line.starts_with("  ")) {
    if (line[2] == ' ') continue;  // a long description goes on
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    const ShellOutcome outcome = shell(fmt::format("{} {} --help", doppel_command(), command));
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_NE(outcome.output.find("Examples:\n  "), std::string::npos) << command;
    ++commands;
  }
  EXPECT_GT(commands, 15);
}

}  // namespace
}  // namespace doppel::testing
