#include "core/packets/validate.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/packets/registers.h"

namespace doppel::packets {
namespace {

constexpr size_t kMaxFixedDwords = 16;

/// Bits of the first dword that say which packet it is and how long.
uint32_t header_bits(const Packet& packet) {
  switch (packet.language) {
    case Language::Pm4:
      return 0xffffff00;
    case Language::Sdma:
      return 0x0000ffff;
    case Language::Aql:
      return aql::Header{packet.dwords[0]}.type() == 0 ? 0x00ff00ff  // with the vendor's format
                                                       : 0x000000ff;
  }
  return 0;
}

/// Calls report(Problem-making arguments) for everything wrong; report returns false to stop.
template <class Report>
bool check_field(const Packet& packet, const Field& field, Report&& report) {
  const FieldLocation& location = field.columns.in(packet.family);
  const uint64_t value = location.extract(packet.dwords.data());
  switch (field.kind) {
    case FieldKind::Enum:
      if (std::ranges::find(field.values, value, &EnumValue::value) == field.values.end()) {
        return report(ProblemKind::UnknownValue, location.dword, field.name, value);
      }
      break;
    case FieldKind::Address:
      if (value % field.align != 0) {
        return report(ProblemKind::Misaligned, location.dword, field.name, value);
      }
      break;
    case FieldKind::RegisterValue: {
      uint64_t known = 0;
      if (const RegisterRow* row = regs::find_register(field.register_name)) {
        for (const Field& part : row->fields) known |= part.columns.in(packet.family).mask;
      }
      if (value & ~known) {
        return report(ProblemKind::ReservedBits, location.dword, field.name, value & ~known);
      }
      break;
    }
    case FieldKind::Integer:
    case FieldKind::Flag:
    case FieldKind::Register:
      break;
  }
  return true;
}

template <class Report>
void check_packet(const Packet& packet, Report&& report) {
  if (!packet.row || packet.error) return;
  if (packet.language == Language::Pm4 && pm4::Header{packet.dwords[0]}.type() != 3) return;
  std::array<uint32_t, kMaxFixedDwords> known{};
  known[0] = header_bits(packet);
  for (const Field& field : packet.row->fields) {
    if (!has_field(packet, field)) continue;
    const FieldLocation& location = field.columns.in(packet.family);
    known[location.dword] |= static_cast<uint32_t>(location.mask);
    if (location.pair) known[location.dword + 1] |= static_cast<uint32_t>(location.mask >> 32);
    if (!check_field(packet, field, report)) return;
  }
  const Length& length = packet.row->length.in(packet.family);
  const size_t fixed = length.max == kUnbounded ? length.fixed() : packet.dwords.size();
  for (uint32_t dword = 0; dword < fixed; ++dword) {
    const uint32_t extra = packet.dwords[dword] & ~known[dword];
    if (extra && !report(ProblemKind::ReservedBits, dword, std::string_view{}, extra)) return;
  }
}

std::string describe(const Packet& packet, ProblemKind kind, uint32_t dword, std::string_view field,
                     uint64_t value) {
  switch (kind) {
    case ProblemKind::ReservedBits:
      return fmt::format("{} sets reserved bits of dword {} (0x{:x}).", packet.row->name, dword,
                         value);
    case ProblemKind::UnknownValue:
      return fmt::format("{} has a value in {} that has no meaning ({}).", packet.row->name, field,
                         value);
    case ProblemKind::Misaligned: {
      const auto row = std::ranges::find(packet.row->fields, field, &Field::name);
      return fmt::format("{} has a misaligned {} (0x{:x} is not a multiple of {}).",
                         packet.row->name, field, value, row->align);
    }
    default:
      return {};
  }
}

}  // namespace

bool has_field(const Packet& packet, const Field& field) {
  const FieldLocation& location = field.columns.in(packet.family);
  return location.present() && location.end_dword() <= packet.dwords.size() &&
         (!field.applies || field.applies(packet.dwords, packet.family));
}

uint64_t field_value(const Packet& packet, const Field& field) {
  if (!has_field(packet, field)) return 0;
  return field.columns.in(packet.family).extract(packet.dwords.data());
}

void validate(const Packet& packet, std::vector<Problem>& problems) {
  if (packet.error) problems.push_back(*packet.error);
  check_packet(packet,
               [&](ProblemKind kind, uint32_t dword, std::string_view field, uint64_t value) {
                 problems.push_back({.kind = kind,
                                     .severity = Severity::Error,
                                     .dword = dword,
                                     .field = field,
                                     .rule = {},
                                     .message = describe(packet, kind, dword, field, value)});
                 return true;
               });
}

std::vector<Problem> validate(const Packet& packet) {
  std::vector<Problem> problems;
  validate(packet, problems);
  return problems;
}

bool is_valid(const Packet& packet) {
  bool valid = packet.ok();
  check_packet(packet, [&](auto&&...) { return valid = false; });
  return valid;
}

}  // namespace doppel::packets
