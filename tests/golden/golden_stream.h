// Golden streams: commands as text under tests/golden, one file a family, one block a case:
//
//   == memory_barrier (PM4, gfx11)
//   00000: WAIT_REG_MEM
//     c0053c00
//     00000043  function=EQUAL_TO_THE_REFERENCE_VALUE ...
//
// Addresses of named ranges print by name, so that the text does not depend on where things lie. A
// run with DOPPEL_UPDATE_GOLDEN=1 in the environment rewrites the files instead of comparing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/command_stream.h"

namespace doppel::test {

/// Ranges of GPU memory by name, for dumps.
struct NamedRange {
  std::string_view name;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

/// The stream as golden text.
std::string golden_text(const CommandStream& stream, const std::vector<NamedRange>& ranges);

/// Collects the cases of one file; compares, or rewrites it, when destroyed.
class GoldenFile {
 public:
  explicit GoldenFile(std::string_view name);
  ~GoldenFile();
  GoldenFile(const GoldenFile&) = delete;
  GoldenFile& operator=(const GoldenFile&) = delete;

  void check(std::string_view test_case, const CommandStream& stream,
             const std::vector<NamedRange>& ranges);

 private:
  std::filesystem::path path_;
  std::map<std::string, std::string, std::less<>> expected_;
  std::string written_;
  size_t cases_ = 0;
};

}  // namespace doppel::test
