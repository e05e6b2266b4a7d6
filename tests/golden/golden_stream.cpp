#include "tests/golden/golden_stream.h"

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "core/packets/dump.h"
#include "tests/paths.h"

namespace doppel::test {
namespace {

bool updating() {
  const char* value = std::getenv("DOPPEL_UPDATE_GOLDEN");
  return value != nullptr && std::string_view(value) == "1";
}

constexpr std::string_view kCaseHead = "== ";

}  // namespace

std::string golden_text(const CommandStream& stream, const std::vector<NamedRange>& ranges) {
  packets::DumpOptions options;
  options.marks = stream.address_marks();
  options.address_name = [&ranges](uint64_t address) -> std::string {
    for (const NamedRange& range : ranges) {
      if (address < range.address || address - range.address >= range.bytes) continue;
      return fmt::format("{}+0x{:x}", range.name, address - range.address);
    }
    return {};
  };
  return packets::dump_stream(stream.language(), std::as_const(stream).dwords(), stream.family(),
                              options);
}

GoldenFile::GoldenFile(std::string_view name) : path_(source_dir() / "tests/golden" / name) {
  std::ifstream file(path_);
  std::string line;
  std::string* block = nullptr;
  while (std::getline(file, line)) {
    if (line.starts_with(kCaseHead)) {
      block = &expected_[line.substr(kCaseHead.size(), line.rfind(" (") - kCaseHead.size())];
    } else if (block) {
      *block += line + "\n";
    }
  }
}

void GoldenFile::check(std::string_view test_case, const CommandStream& stream,
                       const std::vector<NamedRange>& ranges) {
  const auto healthy = stream.check();
  ASSERT_TRUE(healthy.has_value()) << healthy.error().message();
  const std::string text = golden_text(stream, ranges);
  written_ += fmt::format("{}{} ({}, {})\n{}", kCaseHead, test_case,
                          packets::to_string(stream.language()), to_string(stream.family()), text);
  ++cases_;
  if (updating()) return;
  const auto expected = expected_.find(test_case);
  ASSERT_NE(expected, expected_.end())
      << path_ << " has no case " << test_case << "; DOPPEL_UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(text, expected->second) << path_ << ", case " << test_case;
}

GoldenFile::~GoldenFile() {
  if (updating()) {
    std::ofstream(path_) << written_;
    return;
  }
  EXPECT_EQ(cases_, expected_.size()) << path_ << " has cases that no test makes";
}

}  // namespace doppel::test
