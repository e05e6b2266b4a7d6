// doppel diff BEFORE AFTER: what changed between two packet streams, by packet and field.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/files.h"
#include "core/target.h"
#include "tools/commands.h"
#include "tools/language_option.h"
#include "tools/streams/stream_diff.h"
#include "tools/streams/stream_file.h"

namespace doppel::tools {
namespace {

using namespace doppel::streams;

constexpr const char* kDiffExamples = R"(Examples:
  doppel diff old/pm4-gfx11.txt new/pm4-gfx11.txt   two golden files, case by case
  doppel diff --sdma ring-a.bin ring-b.bin          two raw rings
As a git textconv for golden files: git config diff.doppel.textconv "doppel decode --color never"
Exit status: 0 equal, 1 different, 2 the input can't be read.)";

struct DiffOptions {
  std::string before;
  std::string after;
  std::string gpu = "gfx1100";
  packets::Language language = packets::Language::Pm4;
};

/// Segments with the same label are compared; others are added or removed as a whole.
Result<bool> compare(const DiffOptions& options) {
  DOPPEL_ASSIGN(const Target* const target, find_target(options.gpu));
  AddressNames names;
  DOPPEL_ASSIGN(const auto old_bytes, read_file(options.before));
  DOPPEL_ASSIGN(const auto new_bytes, read_file(options.after));
  DOPPEL_ASSIGN(const auto old_segments, parse_segments(old_bytes, options.language, names));
  DOPPEL_ASSIGN(const auto new_segments, parse_segments(new_bytes, options.language, names));
  packets::DumpOptions dump;
  dump.address_name = [&](uint64_t address) { return names.name_of(address); };
  auto packets_of = [&](const Segment& segment) {
    return compared_packets(segment.language, segment.dwords,
                            segment.family.value_or(target->family), dump);
  };
  bool equal = true;
  std::vector<bool> seen(new_segments.size());
  for (const Segment& segment : old_segments) {
    const auto other = std::ranges::find_if(new_segments, [&](const Segment& candidate) {
      return candidate.label == segment.label &&
             !seen[static_cast<size_t>(&candidate - new_segments.data())];
    });
    if (other == new_segments.end()) {
      fmt::print("== {} is gone\n", segment.label);
      equal = false;
      continue;
    }
    seen[static_cast<size_t>(other - new_segments.begin())] = true;
    const auto differences = diff(packets_of(segment), packets_of(*other));
    if (differences.empty()) continue;
    equal = false;
    if (!segment.label.empty()) fmt::print("== {}\n", segment.label);
    fmt::print("{}", to_text(differences));
  }
  for (size_t index = 0; index < new_segments.size(); ++index) {
    if (seen[index]) continue;
    fmt::print("== {} is new\n", new_segments[index].label);
    equal = false;
  }
  return equal;
}

int run_diff(const DiffOptions& options) {
  const auto equal = compare(options);
  if (!equal) {
    fmt::print(stderr, "doppel diff: {}\n", equal.error().to_string());
    return 2;
  }
  return *equal ? 0 : 1;
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command =
      app.add_subcommand("diff", "Show what changed between two packet streams, field by field");
  command->footer(kDiffExamples);
  command->add_option("before", options->before, "Raw dwords, or text with hexadecimal ones")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("after", options->after, "The same, later")
      ->required()
      ->check(CLI::ExistingFile);
  add_language_options(*command, options, options->language);
  command->add_option("--gpu", options->gpu, "Target of packets that do not say theirs")
      ->capture_default_str();
  command->callback([options, &status] { status = run_diff(*options); });
}

}  // namespace doppel::tools
