// EXPECT_STREAM: pins packets dword for dword in a GoogleTest test.
//
//   auto commands = gpu->compute();
//   commands.wait(done, 1).exec(program.kernel("saxpy"), args(x, y, 2.0f, n), 4, 256);
//   EXPECT_STREAM(commands, "saxpy", {"done", done}, {"x", x}, {"code", program});
//
//   auto exec = graph.instantiate(*gpu).value();
//   EXPECT_STREAM(exec, "pipeline");                     // a block for each of its queues
//
// The first argument is a CommandStream, a recording (ComputeCommands, SdmaCommands) or a
// GraphExec. The second names the block of golden.txt; "file/block" names another file. What
// follows names memory, signals and programs; addresses in none of them print as "unnamed1",
// "unnamed2", ..., so that the text never depends on where things lie.
//
// The files live where DOPPEL_GOLDEN_DIR says, a string or path, which the build usually gives:
//
//   target_compile_definitions(my_test PRIVATE
//   DOPPEL_GOLDEN_DIR="${CMAKE_CURRENT_SOURCE_DIR}/golden")
//
// To accept a change: DOPPEL_UPDATE_GOLDEN=1 with a single run of the test binary, then review the
// difference of the text.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/golden/golden_file.h"

namespace doppel::golden {

template <class Stream>
testing::AssertionResult expect_stream(const std::filesystem::path& directory,
                                       const Stream& commands, std::string_view name,
                                       std::initializer_list<NamedRange> names = {}) {
  const size_t slash = name.find('/');
  const bool is_default = slash == std::string_view::npos;
  const std::string file(is_default ? "golden" : name.substr(0, slash));
  const std::string block(is_default ? name : name.substr(slash + 1));
  GoldenFile golden(directory / (file + ".txt"));
  const auto blocks = BlockWriter(names).blocks(block, commands);
  if (!blocks) return testing::AssertionFailure() << blocks.error().message();
  for (const Block& stream : *blocks) {
    if (auto same = golden.check(stream); !same)
      return testing::AssertionFailure() << same.error().message();
  }
  if (auto saved = golden.save(/*drop_unchecked=*/false); !saved)
    return testing::AssertionFailure() << saved.error().message();
  return testing::AssertionSuccess();
}

}  // namespace doppel::golden

#ifndef DOPPEL_GOLDEN_DIR
#error "EXPECT_STREAM needs DOPPEL_GOLDEN_DIR, the directory of the test's golden files."
#endif

#define EXPECT_STREAM(commands, name, ...)                                 \
  EXPECT_TRUE(::doppel::golden::expect_stream(DOPPEL_GOLDEN_DIR, commands, \
                                              name __VA_OPT__(, ) __VA_OPT__({__VA_ARGS__})))
