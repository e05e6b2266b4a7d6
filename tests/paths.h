// Where tests find the checkout, the build's products and, where it exists, the folder of shared
// data sets. Functions rather than macros, so that no test's compilation depends on where the
// checkout lies.
#pragma once

#include <filesystem>

namespace doppel::test {

std::filesystem::path source_dir();
std::filesystem::path binary_dir();
/// Beside the checkout; may not exist: tests that need it skip with a message then.
std::filesystem::path shared_dir();

/// A compiled kernel file of the build ("saxpy.gfx1100.co").
inline std::filesystem::path kernel_file(const std::filesystem::path& name) {
  return binary_dir() / "kernels" / name;
}

}  // namespace doppel::test
