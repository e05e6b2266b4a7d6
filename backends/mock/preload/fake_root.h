// FakeRoot: the machine's sysfs tree and device directory as real files in a directory of their
// own, and the mapping of paths onto it. Written once, by the first process that looks; others of
// the same session find it there.
#pragma once

#include <limits.h>

#include <array>
#include <string>
#include <string_view>

#include "backends/mock/machine.h"
#include "backends/mock/sysfs_tree.h"
#include "core/status.h"

namespace doppel::mock::preload {

class FakeRoot {
 public:
  /// `directory` exists. System if it can't be written.
  static Result<FakeRoot> prepare(std::string directory, const SysfsTree& sysfs,
                                  const Machine& machine);

  /// Whether a client's path belongs to the emulated machine.
  static bool covers(std::string_view path);
  /// A path's place below the directory, written to `buffer`; nullptr if it is too long.
  const char* redirect(std::string_view path, std::array<char, PATH_MAX>& buffer) const;
  /// The length of the directory's prefix in `path`, 0 if it does not begin with it.
  size_t prefix_of(std::string_view path) const;

 private:
  explicit FakeRoot(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
};

}  // namespace doppel::mock::preload
