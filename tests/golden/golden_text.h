// GoldenText: the blocks of one golden file of tests/golden. Unlike EXPECT_STREAM it knows all the
// cases of its file, so that one whose test is gone is noticed.
#pragma once

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/golden/golden_file.h"
#include "tests/paths.h"

namespace doppel::test {

/// Collects the cases of one file; when destroyed, complains of blocks that no case has checked, or
/// writes the file if this run updates it.
class GoldenText {
 public:
  explicit GoldenText(std::string_view name) : file_(source_dir() / "tests/golden" / name) {}
  GoldenText(const GoldenText&) = delete;
  GoldenText& operator=(const GoldenText&) = delete;
  ~GoldenText() {
    if (!golden::updating()) {
      for (const std::string& name : file_.unchecked())
        ADD_FAILURE() << "no test makes the golden block " << name;
    }
    const auto saved = file_.save(/*drop_unchecked=*/true);
    EXPECT_TRUE(saved) << saved.error().message();
  }

  void check(const golden::Block& block) {
    const auto same = file_.check(block);
    EXPECT_TRUE(same) << same.error().message();
  }
  void check(std::string_view name, const CommandStream& commands,
             const std::vector<golden::NamedRange>& ranges) {
    const auto blocks = golden::BlockWriter(ranges).blocks(std::string(name), commands);
    ASSERT_TRUE(blocks) << blocks.error().message();
    for (const golden::Block& block : *blocks) check(block);
  }

 private:
  golden::GoldenFile file_;
};

}  // namespace doppel::test
