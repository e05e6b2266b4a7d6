// Runs shell commands for tests of programs, and keeps what they print.
#pragma once

#include <string>

namespace doppel::test {

struct Outcome {
  int status = -1;  // exit status, or 128 + the signal that ended the command
  std::string output;

  bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
};

/// Keeps standard output; append "2>&1" for both. In a build with sanitizers, commands find their
/// runtime preloaded: programs that load our instrumented libraries don't have it themselves.
Outcome shell(const std::string& command);

/// The built `doppel` command.
std::string doppel_program();

}  // namespace doppel::test
