// Launch: how `doppel` becomes another program with a library of ours in front of libc. No process
// of doppel's is left between that program and whoever started it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace doppel::tools {

// Exit statuses as shells have them.
inline constexpr int kUsageError = 2;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

/// A library beside this program, in the build tree as where it is installed. NotFound.
Result<std::string> find_library(std::string_view name);

/// Puts it in front of the libraries that are preloaded already.
void preload(const std::string& library);

/// Names a file, empty from now on, that the program's processes append to wherever they are; no
/// name, no file. System if it can't be written.
Result<> set_output(const char* variable, const std::string& path);

/// Runs the command in this process. Returns only if that can't be: the exit status, the reason
/// having been printed.
int become(std::string_view subcommand, const std::vector<std::string>& command);

}  // namespace doppel::tools
