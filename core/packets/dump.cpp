#include "core/packets/dump.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/packets/registers.h"
#include "core/packets/validate.h"

namespace doppel::packets {
namespace {

std::string address_text(uint64_t address, const DumpOptions& options) {
  if (options.address_name) {
    if (std::string name = options.address_name(address); !name.empty()) return name;
  }
  return fmt::format("0x{:x}", address);
}

std::string register_text(uint32_t address, GfxFamily family) {
  const RegisterRow* row = regs::find_register(address, family);
  return row ? std::string(row->name) : fmt::format("reg 0x{:04x}", address);
}

/// " vgprs=3 wgp_mode" for the fields of a register's value that are not 0.
std::string register_fields(const RegisterRow& row, uint32_t value, GfxFamily family) {
  std::string text;
  const uint32_t dwords[2] = {value};
  for (const Field& field : row.fields) {
    const FieldLocation& location = field.columns.in(family);
    if (!location.present()) continue;
    const uint64_t part = location.extract(dwords);
    const bool whole = location.mask == 0xffffffff;
    if (part == 0 && !whole) continue;
    if (field.kind == FieldKind::Flag) {
      fmt::format_to(std::back_inserter(text), " {}", field.name);
    } else if (part < 10) {
      fmt::format_to(std::back_inserter(text), " {}={}", field.name, part);
    } else {
      fmt::format_to(std::back_inserter(text), " {}=0x{:x}", field.name, part);
    }
  }
  return text;
}

std::string value_text(const Packet& packet, const Field& field, uint64_t value,
                       const DumpOptions& options) {
  switch (field.kind) {
    case FieldKind::Enum: {
      const auto name = std::ranges::find(field.values, value, &EnumValue::value);
      return name != field.values.end() ? std::string(name->name) : fmt::format("?{}", value);
    }
    case FieldKind::Address:
      return value == 0 ? "0" : address_text(value, options);
    case FieldKind::Register:
      return register_text(static_cast<uint32_t>(value) + regs::base_address(field.base),
                           packet.family);
    case FieldKind::RegisterValue: {
      const RegisterRow* row = regs::find_register(field.register_name);
      std::string parts = register_fields(*row, static_cast<uint32_t>(value), packet.family);
      return parts.empty() ? "0" : "{" + parts.substr(1) + "}";
    }
    case FieldKind::Flag:
      return value ? "1" : "0";
    case FieldKind::Integer:
      return value < 10 ? fmt::format("{}", value) : fmt::format("0x{:x}", value);
  }
  return {};
}

/// Whether a dump of fields would only be longer for it.
bool is_noise(const FieldText& field, GfxFamily family) {
  if (field.value != 0) return false;
  const FieldLocation& location = field.field->columns.in(family);
  const bool whole = location.pair || location.mask == 0xffffffff;
  return !whole &&
         (field.field->kind == FieldKind::Flag || field.field->kind == FieldKind::Integer);
}

/// What a dword of the payload of SET_SH_REG or SET_UCONFIG_REG does.
std::string payload_text(const Packet& packet, size_t index) {
  switch (packet.pm4_id()) {
    case pm4::Id::SetShReg:
      return describe_register(
          regs::kShBase + packet.as<pm4::SetShReg>().reg_offset() + static_cast<uint32_t>(index),
          packet.payload()[index], packet.family);
    case pm4::Id::SetUconfigReg:
      return describe_register(regs::kUconfigBase + packet.as<pm4::SetUconfigReg>().reg_offset() +
                                   static_cast<uint32_t>(index),
                               packet.payload()[index], packet.family);
    default:
      return {};
  }
}

void append_line(std::string& out, const DumpOptions& options, const std::string& raw,
                 std::string_view text) {
  if (options.raw) {
    fmt::format_to(std::back_inserter(out), "  {:8}{}{}", raw, text.empty() ? "" : "  ", text);
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  } else if (!text.empty()) {
    fmt::format_to(std::back_inserter(out), "  {}\n", text);
  }
}

/// A packet's dwords as text, and what is written beside each.
struct Line {
  std::string raw;
  std::string text;
};

/// The dwords of addresses that have a name become placeholders.
void hide_named_addresses(const Packet& packet, const std::vector<FieldText>& fields,
                          const DumpOptions& options, std::vector<Line>& lines) {
  if (!options.address_name) return;
  auto hide = [&](size_t dword) {
    lines[dword].raw = "@lo";
    lines[dword + 1].raw = "@hi";
  };
  for (const FieldText& field : fields) {
    if (field.field->kind != FieldKind::Address || field.value == 0) continue;
    // A pair that shares its dwords with other fields keeps them.
    if (field.field->columns.in(packet.family).mask != ~uint64_t{0}) continue;
    if (!options.address_name(field.value).empty()) hide(field.dword);
  }
  for (const AddressMark& mark : options.marks) {
    if (mark.dword < options.offset) continue;
    const size_t dword = mark.dword - options.offset;
    if (dword + 1 >= packet.dwords.size() || dword + 1 >= lines.size()) continue;
    const uint64_t pair = packet.dwords[dword] | uint64_t{packet.dwords[dword + 1]} << 32;
    constexpr uint64_t kAddressBits = 0xffff'ffff'ffff;  // a buffer descriptor has flags above
    const std::string name = options.address_name((pair << mark.shift) & kAddressBits);
    if (name.empty()) continue;
    hide(dword);
    if (const uint64_t flags = pair >> 48) lines[dword + 1].raw = fmt::format("{:04x}@hi", flags);
    const std::string_view what = lines[dword].text;
    lines[dword].text = fmt::format("{} = {}", what.substr(0, what.find(' ')), name);
    if (mark.shift) lines[dword].text += fmt::format(" >> {}", mark.shift);
    const std::string_view high = lines[dword + 1].text;
    lines[dword + 1].text = std::string(high.substr(0, high.find(' ')));
  }
}

std::string fields_of_dword(const std::vector<FieldText>& fields, uint32_t dword,
                            GfxFamily family) {
  std::string text;
  for (const FieldText& field : fields) {
    if (field.dword != dword || is_noise(field, family)) continue;
    if (!text.empty()) text += ' ';
    text += field.field->name;
    if (field.field->kind != FieldKind::Flag) text += "=" + field.text;
  }
  return text;
}

}  // namespace

std::vector<FieldText> describe_fields(const Packet& packet, const DumpOptions& options) {
  std::vector<FieldText> fields;
  if (!packet.row) return fields;
  for (const Field& field : packet.row->fields) {
    if (!has_field(packet, field)) continue;
    const uint64_t value = field_value(packet, field);
    fields.push_back({&field, field.columns.in(packet.family).dword, value,
                      value_text(packet, field, value, options)});
  }
  return fields;
}

std::string describe_register(uint32_t address, uint32_t value, GfxFamily family) {
  const RegisterRow* row = regs::find_register(address, family);
  if (!row) return fmt::format("reg 0x{:04x}", address);
  return std::string(row->name) + register_fields(*row, value, family);
}

std::string dump(const Packet& packet, const DumpOptions& options) {
  std::string out = packet.name() + "\n";
  const std::vector<FieldText> fields = describe_fields(packet, options);
  const std::span<const uint32_t> payload = packet.payload();
  const size_t fixed = packet.dwords.size() - payload.size();
  const size_t shown = std::min(payload.size(), options.max_payload);
  std::vector<Line> lines;
  for (uint32_t dword = 0; dword < fixed; ++dword) {
    lines.push_back({fmt::format("{:08x}", packet.dwords[dword]),
                     fields_of_dword(fields, dword, packet.family)});
  }
  for (size_t index = 0; index < shown; ++index) {
    lines.push_back({fmt::format("{:08x}", payload[index]), payload_text(packet, index)});
  }
  hide_named_addresses(packet, fields, options, lines);
  for (const Line& line : lines) append_line(out, options, line.raw, line.text);
  if (shown < payload.size()) {
    fmt::format_to(std::back_inserter(out), "  ... {} more dwords\n", payload.size() - shown);
  }
  if (packet.error) {
    fmt::format_to(std::back_inserter(out), "  ! {}\n", packet.error->message);
  }
  return out;
}

std::string dump_stream(Language language, std::span<const uint32_t> stream, GfxFamily family,
                        const DumpOptions& options) {
  std::string out;
  DumpOptions here = options;
  PacketCursor cursor(language, stream, family);
  while (!cursor.done()) {
    here.offset = options.offset + static_cast<uint32_t>(cursor.offset());
    fmt::format_to(std::back_inserter(out), "{:05x}: {}", here.offset, dump(cursor.packet(), here));
    if (cursor.packet().ok()) {
      cursor.advance();
      continue;
    }
    const size_t skipped = cursor.resync();
    fmt::format_to(std::back_inserter(out), "{:05x}: ! {} dwords skipped\n", here.offset, skipped);
  }
  return out;
}

}  // namespace doppel::packets
