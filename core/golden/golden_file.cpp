#include "core/golden/golden_file.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "core/device.h"
#include "core/packets/dump.h"

namespace doppel::golden {
namespace {

constexpr std::string_view kHeadMark = "== ";
constexpr size_t kShownLines = 12;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string marked(char mark, std::span<const std::string_view> lines) {
  std::string text;
  for (std::string_view line : lines.first(std::min(lines.size(), kShownLines)))
    text += fmt::format("{} {}\n", mark, line);
  if (lines.size() > kShownLines)
    text += fmt::format("{} ... {} more lines\n", mark, lines.size() - kShownLines);
  return text;
}

/// The lines between the common beginning and the common end.
std::string difference(std::string_view expected, std::string_view actual) {
  const std::vector<std::string_view> old_lines = lines_of(expected), new_lines = lines_of(actual);
  std::span<const std::string_view> before = old_lines, after = new_lines;
  while (!before.empty() && !after.empty() && before.back() == after.back()) {
    before = before.first(before.size() - 1);
    after = after.first(after.size() - 1);
  }
  size_t line = 1;
  for (; !before.empty() && !after.empty() && before.front() == after.front(); ++line) {
    before = before.subspan(1);
    after = after.subspan(1);
  }
  return fmt::format("from line {} of the block (- expected, + actual):\n{}{}", line,
                     marked('-', before), marked('+', after));
}

}  // namespace

NamedRange::NamedRange(std::string name, uint64_t address, uint64_t bytes)
    : name(std::move(name)), address(address), bytes(bytes) {}
NamedRange::NamedRange(std::string name, const MemoryView& memory)
    : NamedRange(std::move(name), memory.gpu_address, memory.size) {}
NamedRange::NamedRange(std::string name, const Allocation& memory)
    : NamedRange(std::move(name), memory.view()) {}
NamedRange::NamedRange(std::string name, const Signal& signal)
    : NamedRange(std::move(name), signal.ref().address, sizeof(abi::AmdSignal)) {}
NamedRange::NamedRange(std::string name, const Program& program)
    : NamedRange(std::move(name), program.image().view()) {}

std::string BlockWriter::name_of(uint64_t address) {
  if (address == 0) return {};
  for (const NamedRange& range : names_) {
    if (address < range.address || address - range.address >= range.bytes) continue;
    return fmt::format("{}+0x{:x}", range.name, address - range.address);
  }
  const auto [known, is_new] = unnamed_.try_emplace(address, unnamed_.size() + 1);
  return fmt::format("unnamed{}+0x0", known->second);
}

Block BlockWriter::block(std::string name, const CommandStream& commands) {
  packets::DumpOptions options;
  options.marks = commands.address_marks();
  options.address_name = [this](uint64_t address) { return name_of(address); };
  options.max_payload = std::numeric_limits<size_t>::max();
  return {.name = std::move(name),
          .head = fmt::format("({}, {})", packets::to_string(commands.language()),
                              to_string(commands.family())),
          .text = packets::dump_stream(commands.language(), commands.dwords(), commands.family(),
                                       options)};
}

Result<std::vector<Block>> BlockWriter::blocks(const std::string& name,
                                               const CommandStream& commands) {
  DOPPEL_TRY(commands.check());
  return std::vector{block(name, commands)};
}

Result<std::vector<Block>> BlockWriter::blocks(const std::string& name, const Commands& commands) {
  DOPPEL_TRY(commands.check());
  return blocks(name, commands.stream());
}

Result<std::vector<Block>> BlockWriter::blocks(const std::string& name, const GraphExec& graph) {
  std::vector<Block> all;
  std::vector<const Device*> devices;
  for (const GraphStream& stream : graph.commands()) {
    const auto known = std::ranges::find(devices, stream.device);
    const auto number = known - devices.begin();
    if (known == devices.end()) devices.push_back(stream.device);
    all.push_back(
        block(fmt::format("{} gpu{} {}", name, number, to_string(stream.queue)), stream.commands));
  }
  return all;
}

bool updating() {
  const char* value = std::getenv("DOPPEL_UPDATE_GOLDEN");
  return value != nullptr && std::string_view(value) == "1";
}

GoldenFile::GoldenFile(std::filesystem::path path) : path_(std::move(path)) {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kHeadMark)) {
      if (!blocks_.empty()) blocks_.back().text += line + "\n";
      continue;
    }
    const std::string head = line.substr(kHeadMark.size());
    const size_t open = std::min(head.rfind(" ("), head.size());
    blocks_.push_back({.name = head.substr(0, open),
                       .head = open < head.size() ? head.substr(open + 1) : "",
                       .text = ""});
  }
}

Result<> GoldenFile::check(const Block& block) {
  checked_.insert(block.name);
  const auto known = std::ranges::find(blocks_, block.name, &Block::name);
  if (updating()) {
    changed_ = true;
    if (known != blocks_.end())
      *known = block;
    else
      blocks_.push_back(block);
    return {};
  }
  if (known == blocks_.end()) {
    return error(StatusCode::NotFound,
                 fmt::format("{} has no block {}: a run with DOPPEL_UPDATE_GOLDEN=1 writes it.",
                             path_.string(), block.name));
  }
  if (known->head == block.head && known->text == block.text) return {};
  return error(StatusCode::Malformed, fmt::format("{}: the block {} {} is now {}, and differs {}",
                                                  path_.string(), known->name, known->head,
                                                  block.head, difference(known->text, block.text)));
}

std::vector<std::string> GoldenFile::unchecked() const {
  std::vector<std::string> names;
  for (const Block& block : blocks_)
    if (!checked_.contains(block.name)) names.push_back(block.name);
  return names;
}

Result<> GoldenFile::save(bool drop_unchecked) {
  const bool drops = updating() && drop_unchecked && !unchecked().empty();
  if (!changed_ && !drops) return {};
  if (drop_unchecked)
    std::erase_if(blocks_, [&](const Block& block) { return !checked_.contains(block.name); });
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  std::ofstream file(path_);
  for (const Block& block : blocks_)
    file << fmt::format("{}{} {}\n{}", kHeadMark, block.name, block.head, block.text);
  file.close();
  if (!file)
    return error(StatusCode::System,
                 fmt::format("The golden file can't be written ({}).", path_.string()));
  changed_ = false;
  return {};
}

}  // namespace doppel::golden
