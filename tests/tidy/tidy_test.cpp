// The tree's own rules, as tests: include direction, file size, line length, that every source file
// says what it is for, and that the README's program is the example. Reads the sources of the
// checkout that was built.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/paths.h"

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLines = 600;
constexpr size_t kMaxColumns = 100;

struct SourceFile {
  std::string path;  // from the repository root
  std::vector<std::string> lines;
};

std::vector<SourceFile> read_sources() {
  std::vector<SourceFile> sources;
  const fs::path root = doppel::test::source_dir();
  for (const char* room : {"core", "backends", "emulator", "tools", "tests", "bench", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".c" && extension != ".inc")
        continue;
      SourceFile& source = sources.emplace_back();
      source.path = fs::relative(entry.path(), root);
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) source.lines.push_back(line);
    }
  }
  std::ranges::sort(sources, {}, &SourceFile::path);
  return sources;
}

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> all = read_sources();
  return all;
}

// Rows of tables are aligned for the eye, one fact a line, however long.
bool is_table(const SourceFile& source) {
  return source.path.ends_with(".inc");
}

// What code under `prefix` must not include.
struct IncludeRule {
  std::string_view prefix;
  std::string_view forbidden;
};

constexpr IncludeRule kIncludeRules[] = {
    {"core/", "\"(backends|emulator|tools|tests)/"},
    {"core/", "<(sys|linux|unistd|fcntl|xf86drm|amdgpu)"},
    {"emulator/", "\"(backends|tools|tests)/"},
    {"emulator/", "<(sys/|linux/|fcntl|xf86drm|amdgpu)"},
    {"backends/kfd/", "\"(emulator|backends/mock|tools|tests)/"},
    {"backends/mock/", "\"(tools|tests)/"},
    {"emulator/cp/pm4_processor", "\"emulator/cp/ring_reader"},
    {"emulator/cp/aql_processor", "\"emulator/cp/ring_reader"},
    {"emulator/sdma/sdma_processor", "\"emulator/cp/ring_reader"},
};

TEST(Tidy, SourcesAreFound) {
  EXPECT_GT(sources().size(), 15u);
}

TEST(Tidy, IncludesFollowTheLayers) {
  for (const IncludeRule& rule : kIncludeRules) {
    const std::regex forbidden("#include " + std::string(rule.forbidden));
    for (const SourceFile& source : sources()) {
      if (!source.path.starts_with(rule.prefix)) continue;
      for (size_t i = 0; i < source.lines.size(); ++i)
        EXPECT_FALSE(std::regex_search(source.lines[i], forbidden))
            << source.path << ":" << i + 1 << ": " << source.lines[i];
    }
  }
}

TEST(Tidy, FilesAreShort) {
  for (const SourceFile& source : sources()) {
    if (is_table(source)) continue;
    EXPECT_LE(source.lines.size(), kMaxLines) << source.path;
  }
}

TEST(Tidy, LinesAreShort) {
  for (const SourceFile& source : sources()) {
    if (is_table(source)) continue;
    for (size_t i = 0; i < source.lines.size(); ++i)
      EXPECT_LE(source.lines[i].size(), kMaxColumns) << source.path << ":" << i + 1;
  }
}

TEST(Tidy, HeadersBeginWithTheirPurpose) {
  for (const SourceFile& source : sources()) {
    if (!source.path.ends_with(".h")) continue;
    EXPECT_TRUE(!source.lines.empty() && source.lines.front().starts_with("//")) << source.path;
  }
}

TEST(Tidy, NothingIsLeftForLater) {
  // Spelled apart so that this file passes its own test.
  const std::regex later(
      "\\b("
      "TO"
      "DO|FIX"
      "ME|XX"
      "X|HA"
      "CK)\\b");
  for (const SourceFile& source : sources())
    for (size_t i = 0; i < source.lines.size(); ++i)
      EXPECT_FALSE(std::regex_search(source.lines[i], later)) << source.path << ":" << i + 1;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(doppel::test::source_dir() / path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Tidy, ReadmeShowsTheExampleAsItIs) {
  const std::string example = read_text("examples/saxpy.cpp"), readme = read_text("README.md");
  const size_t begin = example.find("Result<"), end = example.find("\n}\n", begin);
  ASSERT_NE(end, std::string::npos);
  EXPECT_NE(readme.find(example.substr(begin, end + 2 - begin)), std::string::npos);
}

}  // namespace
