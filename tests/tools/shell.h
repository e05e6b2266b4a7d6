// Runs shell commands and keeps what they print.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/paths.h"

namespace doppel::testing {

struct ShellOutcome {
  int status = -1;
  std::string output;
};

/// Standard output alone; append "2>&1" for both.
inline ShellOutcome shell(const std::string& command) {
  ShellOutcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

/// The built `doppel` command.
inline std::string doppel_command() {
  return (test::binary_dir() / "bin" / "doppel").string();
}

}  // namespace doppel::testing
