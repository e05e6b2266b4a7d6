#include "tests/emulator/isa/oracle/llvm_mc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace doppel::oracle {
namespace {

namespace fs = std::filesystem;

// Stands between candidates, so that their output can be told apart.
constexpr uint32_t kMarkerWord = 0xbf80abcd;
constexpr std::string_view kMarkerText = "s_nop 0xabcd";
constexpr std::string_view kEncoding = "; encoding: [";

/// llvm-mc itself broke down.
struct Crash : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A folder that goes away with its files.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string path = (fs::temp_directory_path() / "doppel-llvm-mc-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp fails");
    path_ = path;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

template <class Visitor>
void for_each_line(std::string_view text, Visitor visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    visit(text.substr(0, end + (text[end] == '\n' ? 0 : 1)));
    text.remove_prefix(end + 1);
  }
}

// "file:12:3: error: ..." -> 12 and 3.
struct Location {
  uint32_t line = 0;
  uint32_t column = 0;
};
std::optional<Location> location_of(std::string_view message, std::string_view file,
                                    std::string_view severity) {
  if (!message.starts_with(file) || message.find(severity) == std::string_view::npos) return {};
  message.remove_prefix(file.size() + 1);
  Location location;
  auto [colon, bad] =
      std::from_chars(message.data(), message.data() + message.size(), location.line);
  if (bad != std::errc()) return {};
  std::from_chars(colon + 1, message.data() + message.size(), location.column);
  return location;
}

// The bytes behind "; encoding: [" as dwords; empty if the line has none.
Words encoding_of(std::string_view line) {
  const size_t begin = line.find(kEncoding);
  if (begin == std::string_view::npos) return {};
  std::string_view bytes = line.substr(begin + kEncoding.size());
  Words words;
  for (uint32_t count = 0; bytes.starts_with("0x") && bytes.size() >= 4; ++count) {
    uint32_t byte = 0;
    std::from_chars(bytes.data() + 2, bytes.data() + 4, byte, 16);
    if (count % 4 == 0) words.push_back(0);
    words.back() |= byte << (8 * (count % 4));
    bytes.remove_prefix(4);
    if (bytes.starts_with(",")) bytes.remove_prefix(1);
  }
  return words;
}

std::string_view instruction_of(std::string_view line) {
  line = line.substr(0, line.find(kEncoding));
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
}

void append_bytes(std::string& text, std::span<const uint32_t> words) {
  text += '[';
  for (uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      fmt::format_to(std::back_inserter(text), "0x{:02x} ", word >> shift & 0xff);
    }
  }
  text += "]\n";
}

}  // namespace

LlvmMc::Output LlvmMc::run(const std::string& options, const std::string& input) const {
  const ScratchFolder folder;
  std::ofstream(folder.file("in"), std::ios::binary) << input;
  const std::string command = fmt::format(
      "cd {} && {} -triple=amdgcn -mcpu={} -mattr={}wavefrontsize32,{}wavefrontsize64 "
      "{} in >out 2>messages",
      folder.file("."), DOPPEL_LLVM_MC, cpu_, wave_size_ == 32 ? '+' : '-',
      wave_size_ == 32 ? '-' : '+', options);
  // llvm-mc's exit status says that a line failed, which the messages say better.
  const int status = std::system(command.c_str());
  if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) > 1) {
    throw Crash(
        fmt::format("llvm-mc fails: {}", read_text(folder.file("messages")).substr(0, 2000)));
  }
  return {read_text(folder.file("out")), read_text(folder.file("messages"))};
}

std::vector<std::optional<Words>> LlvmMc::assemble(const std::vector<std::string>& lines) const {
  std::string input;
  for (const std::string& line : lines) input += line + '\n';
  const Output output = run("--show-encoding", input);
  std::set<uint32_t> failed;  // line numbers, from 1
  for_each_line(output.messages, [&](std::string_view message) {
    if (auto location = location_of(message, "in", ": error:")) failed.insert(location->line);
  });
  std::vector<std::optional<Words>> results(lines.size());
  uint32_t next = 0;
  for_each_line(output.out, [&](std::string_view line) {
    Words words = encoding_of(line);
    if (words.empty()) return;
    while (failed.contains(next + 1)) ++next;
    if (next >= lines.size()) throw std::runtime_error("llvm-mc prints more than it was given");
    results[next++] = std::move(words);
  });
  return results;
}

std::vector<std::optional<Disassembled>> LlvmMc::disassemble(
    std::span<const Words> candidates) const {
  try {
    return disassemble_at_once(candidates);
  } catch (const Crash&) {
    // Some words crash llvm-mc 19; it does not accept them then.
    if (candidates.size() == 1) return {std::nullopt};
  }
  const size_t half = candidates.size() / 2;
  auto results = disassemble(candidates.first(half));
  auto rest = disassemble(candidates.subspan(half));
  std::ranges::move(rest, std::back_inserter(results));
  return results;
}

std::vector<std::optional<Disassembled>> LlvmMc::disassemble_at_once(
    std::span<const Words> candidates) const {
  std::string input;
  for (const Words& words : candidates) {
    append_bytes(input, words);
    append_bytes(input, {&kMarkerWord, 1});
  }
  const Output output = run("--disassemble --show-encoding", input);
  std::set<uint32_t> invalid;  // lines whose first instruction is none
  for_each_line(output.messages, [&](std::string_view message) {
    const auto location = location_of(message, "in", "invalid instruction encoding");
    if (location && location->column == 2) invalid.insert(location->line);
  });
  std::vector<std::optional<Disassembled>> results(candidates.size());
  size_t next = 0;
  bool first = true;
  for_each_line(output.out, [&](std::string_view line) {
    Words words = encoding_of(line);
    if (words.empty()) return;
    const std::string_view text = instruction_of(line);
    if (text == kMarkerText) {
      ++next;
      first = true;
      return;
    }
    if (next >= candidates.size()) throw std::runtime_error("llvm-mc prints more than expected");
    const bool valid = !invalid.contains(static_cast<uint32_t>(2 * next + 1));
    if (first && valid) {
      results[next] = Disassembled{std::string(text), std::move(words)};
    }
    first = false;
  });
  if (next != candidates.size()) throw std::runtime_error("llvm-mc prints less than expected");
  return results;
}

Words LlvmMc::assemble_program(const std::string& source) const {
  const ScratchFolder folder;
  const std::string object = folder.file("object");
  const std::string text = folder.file("text");
  const Output output = run(fmt::format("-filetype=obj -o {}", object), source);
  if (!output.messages.empty()) throw std::runtime_error(output.messages);
  const std::string command =
      fmt::format("{} -O binary --only-section=.text {} {}", DOPPEL_LLVM_OBJCOPY, object, text);
  if (std::system(command.c_str()) != 0) throw std::runtime_error("llvm-objcopy fails");
  const std::string bytes = read_text(text);
  Words words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), 4 * words.size());
  return words;
}

}  // namespace doppel::oracle
