#include "core/packets/dump.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/packets/registers.h"
#include "core/packets/validate.h"

namespace doppel::packets {
namespace {

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

/// Small numbers in decimal, the others in hexadecimal.
void append_number(std::string& out, uint64_t value) {
  if (value < 10) {
    out += static_cast<char>('0' + value);
  } else {
    append(out, "0x{:x}", value);
  }
}

void append_address(std::string& out, uint64_t address, const DumpOptions& options) {
  const std::string name = options.address_name ? options.address_name(address) : std::string();
  if (name.empty()) {
    append(out, "0x{:x}", address);
  } else {
    out += name;
  }
}

void append_register_name(std::string& out, uint32_t address, GfxFamily family) {
  if (const RegisterRow* row = regs::find_register(address, family)) {
    out += row->name;
  } else {
    append(out, "reg 0x{:04x}", address);
  }
}

/// " vgprs=3 wgp_mode" for the fields of a register's value that are not 0.
void append_register_fields(std::string& out, const RegisterRow& row, uint32_t value,
                            GfxFamily family) {
  const uint32_t dwords[2] = {value};
  for (const Field& field : row.fields) {
    const FieldLocation& location = field.columns.in(family);
    if (!location.present()) continue;
    const uint64_t part = location.extract(dwords);
    if (part == 0 && location.mask != 0xffffffff) continue;
    out += ' ';
    out += field.name;
    if (field.kind == FieldKind::Flag) continue;
    out += '=';
    append_number(out, part);
  }
}

void append_value(std::string& out, const Packet& packet, const Field& field, uint64_t value,
                  const DumpOptions& options) {
  switch (field.kind) {
    case FieldKind::Enum: {
      const auto name = std::ranges::find(field.values, value, &EnumValue::value);
      if (name == field.values.end()) {
        append(out, "?{}", value);
      } else {
        out += name->name;
      }
      break;
    }
    case FieldKind::Address:
      if (value == 0) {
        out += '0';
      } else {
        append_address(out, value, options);
      }
      break;
    case FieldKind::Register:
      append_register_name(out, static_cast<uint32_t>(value) + regs::base_address(field.base),
                           packet.family);
      break;
    case FieldKind::RegisterValue: {
      const size_t start = out.size();
      append_register_fields(out, *regs::find_register(field.register_name),
                             static_cast<uint32_t>(value), packet.family);
      if (out.size() == start) {
        out += '0';
      } else {
        out[start] = '{';
        out += '}';
      }
      break;
    }
    case FieldKind::Flag:
      out += value ? '1' : '0';
      break;
    case FieldKind::Integer:
      append_number(out, value);
      break;
  }
}

/// Whether a dump of fields would only be longer for it.
bool is_noise(const Field& field, const FieldLocation& location, uint64_t value) {
  if (value != 0) return false;
  const bool whole = location.pair || location.mask == 0xffffffff;
  return !whole && (field.kind == FieldKind::Flag || field.kind == FieldKind::Integer);
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

/// A dword of a packet, and what is written beside it.
struct Line {
  std::string raw;  // instead of the dword; "" for the dword
  std::string text;
};

void append_line(std::string& out, const DumpOptions& options, uint32_t dword, const Line& line) {
  if (!options.raw && line.text.empty()) return;
  out += "  ";
  if (options.raw) {
    if (!line.raw.empty()) {
      append(out, "{:8}", line.raw);
    } else {
      append(out, "{:08x}", dword);
    }
    if (!line.text.empty()) out += "  ";
  }
  out += line.text;
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

/// The dwords of addresses that have a name become placeholders.
void hide_named_addresses(const Packet& packet, const DumpOptions& options,
                          std::vector<Line>& lines) {
  if (!options.address_name) return;
  auto hide = [&](size_t dword) {
    lines[dword].raw = "@lo";
    lines[dword + 1].raw = "@hi";
  };
  for (const Field& field : packet.row ? packet.row->fields : std::span<const Field>()) {
    const FieldLocation& location = field.columns.in(packet.family);
    // A pair that shares its dwords with other fields keeps them.
    if (field.kind != FieldKind::Address || location.mask != ~uint64_t{0}) continue;
    const uint64_t address = field_value(packet, field);
    if (address != 0 && !options.address_name(address).empty()) hide(location.dword);
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

/// Writes the packet's fields beside the dwords that hold them.
void describe_dwords(const Packet& packet, const DumpOptions& options, std::vector<Line>& lines) {
  if (!packet.row) return;
  for (const Field& field : packet.row->fields) {
    if (!has_field(packet, field)) continue;
    const FieldLocation& location = field.columns.in(packet.family);
    const uint64_t value = location.extract(packet.dwords.data());
    if (is_noise(field, location, value)) continue;
    std::string& text = lines[location.dword].text;
    if (!text.empty()) text += ' ';
    text += field.name;
    if (field.kind == FieldKind::Flag) continue;
    text += '=';
    append_value(text, packet, field, value, options);
  }
}

}  // namespace

std::vector<FieldText> describe_fields(const Packet& packet, const DumpOptions& options) {
  std::vector<FieldText> fields;
  if (!packet.row) return fields;
  for (const Field& field : packet.row->fields) {
    if (!has_field(packet, field)) continue;
    FieldText& text = fields.emplace_back();
    text.field = &field;
    text.dword = field.columns.in(packet.family).dword;
    text.value = field_value(packet, field);
    append_value(text.text, packet, field, text.value, options);
  }
  return fields;
}

std::string describe_register(uint32_t address, uint32_t value, GfxFamily family) {
  std::string text;
  append_register_name(text, address, family);
  if (const RegisterRow* row = regs::find_register(address, family)) {
    append_register_fields(text, *row, value, family);
  }
  return text;
}

std::string dump(const Packet& packet, const DumpOptions& options) {
  std::string out = packet.name() + "\n";
  const std::span<const uint32_t> payload = packet.payload();
  const size_t fixed = packet.dwords.size() - payload.size();
  const size_t shown = fixed + std::min(payload.size(), options.max_payload);
  std::vector<Line> lines(shown);
  describe_dwords(packet, options, lines);
  for (size_t dword = fixed; dword < shown; ++dword) {
    lines[dword].text = payload_text(packet, dword - fixed);
  }
  hide_named_addresses(packet, options, lines);
  for (size_t dword = 0; dword < shown; ++dword) {
    append_line(out, options, packet.dwords[dword], lines[dword]);
  }
  if (shown < packet.dwords.size()) {
    append(out, "  ... {} more dwords\n", packet.dwords.size() - shown);
  }
  if (packet.error) append(out, "  ! {}\n", packet.error->message);
  return out;
}

std::string dump_stream(Language language, std::span<const uint32_t> stream, GfxFamily family,
                        const DumpOptions& options) {
  std::string out;
  DumpOptions here = options;
  PacketCursor cursor(language, stream, family);
  while (!cursor.done()) {
    here.offset = options.offset + static_cast<uint32_t>(cursor.offset());
    append(out, "{:05x}: {}", here.offset, dump(cursor.packet(), here));
    if (cursor.packet().ok()) {
      cursor.advance();
      continue;
    }
    const size_t skipped = cursor.resync();
    append(out, "{:05x}: ! {} dwords skipped\n", here.offset, skipped);
  }
  return out;
}

}  // namespace doppel::packets
