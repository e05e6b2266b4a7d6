// SysfsTree: the files below /sys (and few others) that a client looks at, as data: regular files,
// directories and symbolic links by absolute path. Read in process through VirtualKernel, written
// to a real directory for the preload shim. Immutable once built; ordered, so that dumps compare.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"

namespace doppel::mock {

class SysfsTree {
 public:
  struct Directory {};
  struct File {
    std::string content;
  };
  struct Link {
    std::string target;  // absolute
  };
  using Entry = std::variant<Directory, File, Link>;

  /// Adds the entry and the directories above it.
  void add_file(const std::string& path, std::string content);
  void add_directory(const std::string& path);
  void add_link(const std::string& path, std::string target);

  /// Content of a file, links followed. NotFound (ENOENT, ENOTDIR, EISDIR) naming the path.
  Result<std::string> read(const std::string& path) const;
  /// Names in a directory, sorted, links followed.
  Result<std::vector<std::string>> list(const std::string& path) const;

  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  void add_parents(std::string_view path);
  /// The path without links, or NotFound.
  Result<std::string> resolve(const std::string& path) const;

  std::map<std::string, Entry> entries_;
};

}  // namespace doppel::mock
