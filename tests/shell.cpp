#include "tests/shell.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "tests/paths.h"

namespace doppel::test {
namespace {

#ifdef DOPPEL_SANITIZER_RUNTIME
void prepare_children() {
  setenv("LD_PRELOAD", DOPPEL_SANITIZER_RUNTIME, 1);
  // Other people's programs leak, and crash as they would.
  setenv("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:handle_sigbus=0", 1);
}
#else
void prepare_children() {}
#endif

}  // namespace

Outcome shell(const std::string& command) {
  prepare_children();
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string doppel_program() {
  return binary_dir() / "bin/doppel";
}

}  // namespace doppel::test
