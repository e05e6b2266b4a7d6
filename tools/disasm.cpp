// doppel disasm: machine code as LLVM writes it, of a code object's kernels or of words given.
#include <fmt/format.h>
#include <charconv>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/code_object.h"
#include "core/files.h"
#include "emulator/isa/disassembler.h"
#include "tools/commands.h"
#include "tools/vectors/zstd_file.h"

namespace doppel::tools {
namespace {

constexpr const char* kDisasmExamples = R"(Examples:
  doppel disasm saxpy.gfx1100.co                   every kernel of a code object
  doppel disasm --words bf810000 --target gfx1030  s_endpgm)";

struct DisasmOptions {
  std::string file;
  std::string kernel;
  std::string target = "gfx1100";
  std::vector<std::string> words;
  uint32_t wave_size = 32;
};

void print_code(GfxFamily family, std::span<const uint32_t> code, uint64_t begin,
                uint32_t wave_size) {
  for (size_t at = 0; at < code.size();) {
    const auto rest = code.subspan(at);
    const auto instruction = isa::decode(family, rest);
    const size_t dwords = instruction ? instruction->dwords : 1;
    std::string hex;
    for (uint32_t word : rest.first(dwords)) hex += fmt::format(" {:08x}", word);
    fmt::print("  {:6x}: {:<64}; {}\n", begin + 4 * at,
               isa::disassemble_or_dwords(family, rest.first(dwords), wave_size == 64), hex);
    at += dwords;
  }
}

Result<> print_object(const DisasmOptions& options) {
  DOPPEL_ASSIGN(const auto file, read_file(options.file));
  DOPPEL_ASSIGN(const auto object, CodeObject::parse(file));
  std::vector<std::byte> image(object.image_bytes());
  DOPPEL_TRY(object.write_image(0, image));
  if (!options.kernel.empty()) DOPPEL_TRY(object.find_kernel(options.kernel));
  for (const KernelInfo& kernel : object.kernels()) {
    if (!options.kernel.empty() && kernel.name != options.kernel) continue;
    const uint64_t size = std::min(kernel.code_bytes, image.size() - kernel.entry_offset);
    std::vector<uint32_t> code(size / 4);
    if (!code.empty())
      std::memcpy(code.data(), image.data() + kernel.entry_offset, 4 * code.size());
    fmt::print("{} ({}, wave{}):\n", kernel.name, object.target().name, kernel.wave_size);
    print_code(object.target().family, code, kernel.entry_offset, kernel.wave_size);
  }
  return {};
}

Result<> print_words(const DisasmOptions& options) {
  DOPPEL_ASSIGN(const Target* target, find_target(options.target));
  std::vector<uint32_t> code;
  for (const std::string& word : options.words) {
    const std::string_view digits =
        word.starts_with("0x") ? std::string_view(word).substr(2) : std::string_view(word);
    uint32_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
      return error(StatusCode::InvalidArgument,
                   fmt::format("A word is a hexadecimal number of 32 bits ({}).", word));
    }
    code.push_back(value);
  }
  print_code(target->family, code, 0, options.wave_size);
  return {};
}

int run_disasm(const DisasmOptions& options) {
  const auto done = options.words.empty() ? print_object(options) : print_words(options);
  if (done) return 0;
  fmt::print(stderr, "doppel disasm: {}\n", done.error().to_string());
  return 2;
}

}  // namespace

void add_disasm(CLI::App& app, int& status) {
  auto options = std::make_shared<DisasmOptions>();
  CLI::App* command =
      app.add_subcommand("disasm", "Disassemble a code object's kernels, or machine words");
  command->footer(kDisasmExamples);
  auto* file = command->add_option("file", options->file, "Code object");
  auto* words = command->add_option("--words", options->words, "Hexadecimal dwords instead");
  file->excludes(words);
  command->add_option("--kernel", options->kernel, "Only this kernel");
  command->add_option("--target", options->target, "Target of --words");
  command->add_option("--wave-size", options->wave_size, "Lanes of a wave, for --words")
      ->check(CLI::IsMember({32, 64}));
  command->callback([options, command, &status] {
    if (options->file.empty() && options->words.empty()) {
      throw CLI::RequiredError(command->get_name() + ": FILE or --words");
    }
    status = run_disasm(*options);
  });
}

}  // namespace doppel::tools
