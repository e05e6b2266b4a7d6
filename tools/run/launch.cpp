#include "tools/run/launch.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

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

void preload(const std::string& library) {
  const char* existing = std::getenv("LD_PRELOAD");
  const std::string all =
      existing == nullptr || *existing == '\0' ? library : library + ":" + existing;
  setenv("LD_PRELOAD", all.c_str(), 1);
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
