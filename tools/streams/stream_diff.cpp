#include "tools/streams/stream_diff.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/packets/packet.h"
#include "core/packets/registers.h"

namespace doppel::streams {
namespace {

using namespace packets;

/// The registers of a register write; 0 otherwise.
uint32_t first_register(const Packet& packet) {
  if (packet.pm4_id() == pm4::Id::SetShReg) {
    return regs::kShBase + packet.as<pm4::SetShReg>().reg_offset();
  }
  if (packet.pm4_id() == pm4::Id::SetUconfigReg) {
    return regs::kUconfigBase + packet.as<pm4::SetUconfigReg>().reg_offset();
  }
  return 0;
}

ComparedPacket compared(const Packet& packet, size_t offset, const DumpOptions& options) {
  ComparedPacket result{offset, packet.name(), {packet.dwords.begin(), packet.dwords.end()}, {}};
  for (FieldText& field : describe_fields(packet, options)) {
    result.fields.emplace_back(field.field->name, std::move(field.text));
  }
  const uint32_t first = first_register(packet);
  const auto payload = packet.payload();
  for (size_t index = 0; index < payload.size(); ++index) {
    const uint32_t address = first + static_cast<uint32_t>(index);
    const RegisterRow* row = first ? regs::find_register(address, packet.family) : nullptr;
    if (index == 0 && row) result.name += fmt::format(" {}", row->name);
    result.fields.emplace_back(row ? std::string(row->name) : fmt::format("payload[{}]", index),
                               fmt::format("0x{:x}", payload[index]));
  }
  if (packet.error) result.fields.emplace_back("problem", packet.error->message);
  return result;
}

/// Pairs (index before, index after) of a longest common subsequence of names. Quadratic, after the
/// equal ends are cut off; for very long middles packets are paired by their position.
std::vector<std::pair<size_t, size_t>> match(std::span<const ComparedPacket> before,
                                             std::span<const ComparedPacket> after) {
  constexpr size_t kMaxCells = 16'000'000;
  std::vector<std::pair<size_t, size_t>> pairs;
  size_t head = 0;
  const size_t shorter = std::min(before.size(), after.size());
  while (head < shorter && before[head].name == after[head].name) {
    pairs.emplace_back(head, head);
    ++head;
  }
  size_t tail = 0;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail].name == after[after.size() - 1 - tail].name) {
    ++tail;
  }
  const size_t rows = before.size() - head - tail, columns = after.size() - head - tail;
  if (rows != 0 && columns <= kMaxCells / (rows + 1)) {
    // length[i][j]: of the longest common subsequence of the middles from i and j on.
    std::vector<std::vector<uint32_t>> length(rows + 1, std::vector<uint32_t>(columns + 1));
    for (size_t i = rows; i-- > 0;) {
      for (size_t j = columns; j-- > 0;) {
        length[i][j] = before[head + i].name == after[head + j].name
                           ? length[i + 1][j + 1] + 1
                           : std::max(length[i + 1][j], length[i][j + 1]);
      }
    }
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
      if (before[head + i].name == after[head + j].name) {
        pairs.emplace_back(head + i++, head + j++);
      } else if (length[i + 1][j] >= length[i][j + 1]) {
        ++i;
      } else {
        ++j;
      }
    }
  } else {
    for (size_t i = 0; i < std::min(rows, columns); ++i) {
      if (before[head + i].name == after[head + i].name) pairs.emplace_back(head + i, head + i);
    }
  }
  for (; tail > 0; --tail) pairs.emplace_back(before.size() - tail, after.size() - tail);
  return pairs;
}

Difference changed(const ComparedPacket& before, const ComparedPacket& after) {
  Difference difference{Difference::Kind::Changed, before.offset, after.offset, after.name, {}};
  auto value_of = [](const ComparedPacket& packet, const std::string& name) -> std::string {
    const auto field =
        std::ranges::find(packet.fields, name, [](const auto& f) { return f.first; });
    return field == packet.fields.end() ? "(none)" : field->second;
  };
  // A field that one side lacks (another family's) is 0 there.
  for (const auto& [name, value] : before.fields) {
    const std::string now = value_of(after, name);
    if (now == "(none)" && value == "0") continue;
    if (now != value) difference.fields.push_back(fmt::format("{}: {} -> {}", name, value, now));
  }
  for (const auto& [name, value] : after.fields) {
    if (value_of(before, name) == "(none)" && value != "0") {
      difference.fields.push_back(fmt::format("{}: (none) -> {}", name, value));
    }
  }
  // Bits that no field shows: reserved ones.
  if (difference.fields.empty() && before.dwords != after.dwords) {
    for (size_t i = 0; i < std::min(before.dwords.size(), after.dwords.size()); ++i) {
      if (before.dwords[i] == after.dwords[i]) continue;
      difference.fields.push_back(
          fmt::format("dword {}: {:08x} -> {:08x}", i, before.dwords[i], after.dwords[i]));
    }
  }
  return difference;
}

}  // namespace

std::vector<ComparedPacket> compared_packets(Language language, std::span<const uint32_t> stream,
                                             GfxFamily family, const DumpOptions& options) {
  std::vector<ComparedPacket> result;
  PacketCursor cursor(language, stream, family);
  while (!cursor.done()) {
    result.push_back(compared(cursor.packet(), cursor.offset(), options));
    if (cursor.packet().ok()) {
      cursor.advance();
    } else {
      cursor.resync();
    }
  }
  return result;
}

std::vector<Difference> diff(std::span<const ComparedPacket> before,
                             std::span<const ComparedPacket> after) {
  std::vector<Difference> differences;
  size_t i = 0, j = 0;
  auto unmatched = [&](size_t until_i, size_t until_j) {
    for (; i < until_i; ++i) {
      const size_t at = j < after.size() ? after[j].offset : 0;
      differences.push_back({Difference::Kind::Removed, before[i].offset, at, before[i].name, {}});
    }
    for (; j < until_j; ++j) {
      const size_t at = i < before.size() ? before[i].offset : 0;
      differences.push_back({Difference::Kind::Added, at, after[j].offset, after[j].name, {}});
    }
  };
  for (const auto& [left, right] : match(before, after)) {
    unmatched(left, right);
    Difference difference = changed(before[left], after[right]);
    if (!difference.fields.empty()) differences.push_back(std::move(difference));
    i = left + 1, j = right + 1;
  }
  unmatched(before.size(), after.size());
  return differences;
}

std::string to_text(std::span<const Difference> differences) {
  std::string out;
  for (const Difference& difference : differences) {
    switch (difference.kind) {
      case Difference::Kind::Removed:
        out += fmt::format("- {:05x}        {}\n", difference.before, difference.packet);
        break;
      case Difference::Kind::Added:
        out += fmt::format("+        {:05x} {}\n", difference.after, difference.packet);
        break;
      case Difference::Kind::Changed:
        out += fmt::format("! {:05x} -> {:05x} {}\n", difference.before, difference.after,
                           difference.packet);
        break;
    }
    for (const std::string& field : difference.fields) out += fmt::format("    {}\n", field);
  }
  return out;
}

}  // namespace doppel::streams
