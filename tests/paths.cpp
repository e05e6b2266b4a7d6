#include "tests/paths.h"

namespace doppel::test {

std::filesystem::path source_dir() {
  return DOPPEL_SOURCE_DIR;
}

std::filesystem::path binary_dir() {
  return DOPPEL_BINARY_DIR;
}

std::filesystem::path shared_dir() {
  return source_dir().parent_path() / "shared";
}

}  // namespace doppel::test
