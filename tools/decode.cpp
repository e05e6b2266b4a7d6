// doppel decode FILE: packet streams as symbolic text or JSON.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/files.h"
#include "core/target.h"
#include "tools/commands.h"
#include "tools/language_option.h"
#include "tools/streams/stream_file.h"
#include "tools/streams/stream_print.h"

namespace doppel::tools {
namespace {

using namespace doppel::streams;

constexpr const char* kDecodeExamples = R"(Examples:
  doppel decode ring.bin                     a raw PM4 ring, RDNA3
  doppel decode --sdma --gpu gfx1030 ib.txt  hexadecimal text of an SDMA queue
  doppel decode --explain log.txt            also what lint thinks of each packet
  doppel decode demo.dpl                     each submission of a trace, indirect buffers included
  doppel decode --memory 0x7f0000100000=ib.bin ring.bin
                                             follow indirect buffers into ib.bin
FILE holds raw dwords, hexadecimal text, golden text, a trace of `doppel record` or `doppel run
--trace`, umr's rings and buffers, HIP's log (AMD_LOG_LEVEL=4), or lists as tinygrad prints them.
Exit status: 0 well-formed, 1 problems found, 2 the input can't be read.)";

struct DecodeOptions {
  std::string path;
  std::string gpu = "gfx1100";
  packets::Language language = packets::Language::Pm4;
  std::vector<std::string> memory;
  std::string color = "auto";
  bool json = false;
  bool explain = false;
};

/// "ADDRESS=FILE": what lies at a GPU address.
Result<> add_memory(KnownMemory& memory, const std::string& argument, AddressNames& names) {
  const size_t equals = argument.find('=');
  char* end = nullptr;
  const uint64_t address = std::strtoull(argument.c_str(), &end, 16);
  if (equals == std::string::npos || end != argument.c_str() + equals || equals == 0) {
    return error(
        StatusCode::InvalidArgument,
        fmt::format("--memory takes ADDRESS=FILE with a hexadecimal address ({}).", argument));
  }
  DOPPEL_ASSIGN(const auto bytes, read_file(argument.substr(equals + 1)));
  DOPPEL_ASSIGN(const auto segments, parse_segments(bytes, packets::Language::Pm4, names));
  std::vector<uint32_t> dwords;
  for (const Segment& segment : segments) {
    dwords.insert(dwords.end(), segment.dwords.begin(), segment.dwords.end());
  }
  memory.add(address, std::move(dwords));
  return {};
}

constexpr size_t kFlushBytes = 1 << 16;

void flush(std::string& out) {
  std::fwrite(out.data(), 1, out.size(), stdout);
  out.clear();
}

Result<WalkTotals> decode(const DecodeOptions& options) {
  DOPPEL_ASSIGN(const Target* const target, find_target(options.gpu));
  KnownMemory memory;
  AddressNames names;
  for (const std::string& argument : options.memory)
    DOPPEL_TRY(add_memory(memory, argument, names));
  DOPPEL_ASSIGN(const auto bytes, read_file(options.path));
  DOPPEL_ASSIGN(auto segments, parse_segments(bytes, options.language, names));
  for (const Segment& segment : segments) {
    if (segment.address) memory.add(*segment.address, segment.dwords);
  }
  const bool color =
      options.color == "always" || (options.color == "auto" && isatty(STDOUT_FILENO) == 1);
  WalkTotals totals;
  std::string out;
  for (Segment& segment : segments) {
    segment.memory.fall_back_on(&memory);
    const WalkOptions walk{segment.family.value_or(target->family), options.explain,
                           &segment.memory, &names};
    if (!options.json && !segment.label.empty()) {
      out += fmt::format("== {} {}\n", packets::to_string(segment.language), segment.label);
    }
    TextPrinter printer(walk, color);
    const WalkTotals of_segment =
        walk_stream(segment.language, segment.dwords, walk, [&](const Visit& visit) {
          if (options.json) {
            out += to_json(visit, segment.label);
          } else {
            printer.append(out, visit);
          }
          if (out.size() >= kFlushBytes) flush(out);
        });
    flush(out);
    totals.packets += of_segment.packets;
    totals.problems += of_segment.problems;
    totals.skipped += of_segment.skipped;
  }
  return totals;
}

int run_decode(const DecodeOptions& options) {
  const auto totals = decode(options);
  if (!totals) {
    fmt::print(stderr, "doppel decode: {}\n", totals.error().to_string());
    return 2;
  }
  if (totals->problems != 0) {
    fmt::print(stderr, "doppel decode: {} problems in {} packets, {} dwords skipped\n",
               totals->problems, totals->packets, totals->skipped);
  }
  return totals->problems == 0 ? 0 : 1;
}

}  // namespace

void add_decode(CLI::App& app, int& status) {
  auto options = std::make_shared<DecodeOptions>();
  CLI::App* command =
      app.add_subcommand("decode", "Show packet streams symbolically, and what is wrong in them");
  command->footer(kDecodeExamples);
  command->add_option("file", options->path, "Raw dwords, text, a dump or a trace")
      ->required()
      ->check(CLI::ExistingFile);
  add_language_options(*command, options, options->language);
  command->add_option("--gpu", options->gpu, "Target whose packets these are")
      ->capture_default_str();
  command->add_option("--memory", options->memory, "ADDRESS=FILE: what lies at a GPU address");
  command->add_option("--color", options->color)
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object a packet and line");
  command->add_flag("--explain", options->explain, "Also say what lint finds");
  command->callback([options, &status] { status = run_decode(*options); });
}

}  // namespace doppel::tools
