#include "tools/run/launch.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace doppel::tools {

Result<std::string> find_library(std::string_view name) {
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const auto prefix = self.parent_path().parent_path();
  for (const char* place : {"lib", DOPPEL_INSTALL_LIBDIR}) {
    const auto path = prefix / place / name;
    if (std::filesystem::exists(path, failure)) return path.string();
  }
  return error(StatusCode::NotFound,
               fmt::format("{} is not beside the program ({}).", name, self.string()));
}

namespace {

/// A sanitizer's runtime works only if it is the first library of all.
bool is_sanitizer_runtime(const std::string& library) {
  const std::string name = std::filesystem::path(library).filename().string();
  return name.starts_with("libasan") || name.starts_with("libubsan") ||
         name.starts_with("libtsan") || name.starts_with("libclang_rt");
}

}  // namespace

void preload(const std::string& library) {
  const char* inherited = std::getenv("LD_PRELOAD");
  std::string names = inherited == nullptr ? "" : inherited;
  std::ranges::replace(names, ':', ' ');
  std::vector<std::string> libraries;
  std::istringstream words(names);
  for (std::string name; words >> name;) libraries.push_back(name);
  libraries.insert(std::ranges::find_if_not(libraries, is_sanitizer_runtime), library);
  setenv("LD_PRELOAD", fmt::format("{}", fmt::join(libraries, ":")).c_str(), 1);
}

Result<> set_output(const char* variable, const std::string& path) {
  if (path.empty()) return {};
  if (!std::ofstream(path, std::ios::trunc)) {
    const int os_error = errno;
    return error(StatusCode::System,
                 fmt::format("The file can't be written ({}): {}.", path, std::strerror(os_error)),
                 os_error);
  }
  std::error_code ignored;
  setenv(variable, std::filesystem::absolute(path, ignored).c_str(), 1);
  return {};
}

int become(std::string_view subcommand, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int os_error = errno;
  fmt::print(stderr, "doppel {}: The command can't be started ({}): {}.\n", subcommand,
             arguments[0], std::strerror(os_error));
  return os_error == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace doppel::tools
