// The shell of tests/shell.h under the names that the tests of commands use.
#pragma once

#include "tests/paths.h"
#include "tests/shell.h"

namespace doppel::testing {

using ShellOutcome = test::Outcome;
using test::shell;
inline std::string doppel_command() {
  return test::doppel_program();
}

}  // namespace doppel::testing
