#include "core/packets/dump.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "core/packets/registers.h"
#include "core/packets/validate.h"

namespace doppel::packets {
namespace {

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

void append_hex(std::string& out, uint64_t value, int digits) {
  char text[16];
  for (int at = digits - 1; at >= 0; --at, value >>= 4) text[at] = "0123456789abcdef"[value & 0xf];
  out.append(text, static_cast<size_t>(digits));
}

/// Small numbers in decimal, the others in hexadecimal.
void append_number(std::string& out, uint64_t value) {
  if (value < 10) {
    out += static_cast<char>('0' + value);
    return;
  }
  out += "0x";
  append_hex(out, value, (std::bit_width(value) + 3) / 4);
}

void append_address(std::string& out, uint64_t address, const DumpOptions& options) {
  const std::string name = options.address_name ? options.address_name(address) : std::string();
  if (name.empty()) {
    out += "0x";
    append_hex(out, address, (std::bit_width(address) + 3) / 4);
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

void append_register(std::string& out, uint32_t address, uint32_t value, GfxFamily family) {
  append_register_name(out, address, family);
  if (const RegisterRow* row = regs::find_register(address, family)) {
    append_register_fields(out, *row, value, family);
  }
}

/// The register that the first payload dword of a packet goes to, if it is a register write.
std::optional<uint32_t> first_register(const Packet& packet) {
  switch (packet.pm4_id()) {
    case pm4::Id::SetShReg:
      return regs::kShBase + packet.as<pm4::SetShReg>().reg_offset();
    case pm4::Id::SetUconfigReg:
      return regs::kUconfigBase + packet.as<pm4::SetUconfigReg>().reg_offset();
    default:
      return std::nullopt;
  }
}

}  // namespace

void append_offset(std::string& out, uint32_t offset) {
  append_hex(out, offset, std::max(5, (static_cast<int>(std::bit_width(offset)) + 3) / 4));
  out += ": ";
}

/// Writes the packet's fields beside the dwords that hold them.
void Dumper::describe_fields_of(const Packet& packet) {
  if (!packet.row) return;
  for (const Field& field : packet.row->fields) {
    if (!has_field(packet, field)) continue;
    const FieldLocation& location = field.columns.in(packet.family);
    const uint64_t value = location.extract(packet.dwords.data());
    if (is_noise(field, location, value)) continue;
    std::string& text = lines_[location.dword].text;
    if (!text.empty()) text += ' ';
    text += field.name;
    if (field.kind == FieldKind::Flag) continue;
    text += '=';
    append_value(text, packet, field, value, options_);
  }
}

void Dumper::describe_payload_of(const Packet& packet, size_t fixed, size_t shown) {
  const std::optional<uint32_t> first = first_register(packet);
  if (!first) return;
  for (size_t dword = fixed; dword < shown; ++dword) {
    append_register(lines_[dword].text, *first + static_cast<uint32_t>(dword - fixed),
                    packet.dwords[dword], packet.family);
  }
}

/// The dwords of addresses that have a name become placeholders.
void Dumper::hide_named_addresses(const Packet& packet, uint32_t offset, size_t shown) {
  if (!options_.address_name) return;
  auto hide = [&](size_t dword) {
    lines_[dword].raw = "@lo";
    lines_[dword + 1].raw = "@hi";
  };
  for (const Field& field : packet.row ? packet.row->fields : std::span<const Field>()) {
    const FieldLocation& location = field.columns.in(packet.family);
    // A pair that shares its dwords with other fields keeps them.
    if (field.kind != FieldKind::Address || location.mask != ~uint64_t{0}) continue;
    const uint64_t address = field_value(packet, field);
    if (address != 0 && !options_.address_name(address).empty()) hide(location.dword);
  }
  for (const AddressMark& mark : options_.marks) {
    if (mark.dword < offset) continue;
    const size_t dword = mark.dword - offset;
    if (dword + 1 >= shown) continue;
    const uint64_t pair = packet.dwords[dword] | uint64_t{packet.dwords[dword + 1]} << 32;
    constexpr uint64_t kAddressBits = 0xffff'ffff'ffff;  // a buffer descriptor has flags above
    const std::string name = options_.address_name((pair << mark.shift) & kAddressBits);
    if (name.empty()) continue;
    hide(dword);
    Line &low = lines_[dword], &high = lines_[dword + 1];
    if (const uint64_t flags = pair >> 48) high.raw = fmt::format("{:04x}@hi", flags);
    low.text.resize(std::min(low.text.find(' '), low.text.size()));
    low.text += " = " + name;
    if (mark.shift) low.text += fmt::format(" >> {}", mark.shift);
    high.text.resize(std::min(high.text.find(' '), high.text.size()));
  }
}

void Dumper::append_line(std::string& out, uint32_t dword, const Line& line) const {
  if (!options_.raw && line.text.empty()) return;
  out += "  ";
  if (options_.raw) {
    constexpr size_t kDigits = 8;
    if (line.raw.empty()) {
      append_hex(out, dword, kDigits);
    } else {
      out += line.raw;
    }
    if (!line.text.empty()) {
      const size_t written = line.raw.empty() ? kDigits : line.raw.size();
      out.append(kDigits - std::min(written, kDigits) + 2, ' ');
    }
  }
  out += line.text;
  out += '\n';
}

bool Dumper::Written::is_of(const Packet& packet) const {
  return row == packet.row && family == packet.family && std::ranges::equal(dwords, packet.dwords);
}

Dumper::Written* Dumper::place_of(const Packet& packet) {
  constexpr size_t kPlaces = 1024, kMaxDwords = 64, kShortStream = 100;
  if (options_.address_name || packet.dwords.size() > kMaxDwords) return nullptr;
  if (++packets_ < kShortStream) return nullptr;
  if (written_.empty()) written_.resize(kPlaces);
  uint64_t hash = 0;
  for (const uint32_t dword : packet.dwords) hash = (hash ^ dword) * 0x9e3779b97f4a7c15;
  return &written_[hash >> 54];
}

void Dumper::append_dwords(std::string& out, const Packet& packet, uint32_t offset) {
  Written* const place = place_of(packet);
  if (place == nullptr) return write_dwords(out, packet, offset);
  if (!place->is_of(packet)) {
    place->row = packet.row;
    place->family = packet.family;
    place->dwords.assign(packet.dwords.begin(), packet.dwords.end());
    place->text.clear();
    write_dwords(place->text, packet, offset);
  }
  out += place->text;
}

void Dumper::write_dwords(std::string& out, const Packet& packet, uint32_t offset) {
  const size_t fixed = packet.dwords.size() - packet.payload().size();
  const size_t shown = fixed + std::min(packet.payload().size(), options_.max_payload);
  if (lines_.size() < shown) lines_.resize(shown);
  for (size_t dword = 0; dword < shown; ++dword) {
    lines_[dword].raw.clear();
    lines_[dword].text.clear();
  }
  describe_fields_of(packet);
  describe_payload_of(packet, fixed, shown);
  hide_named_addresses(packet, offset, shown);
  for (size_t dword = 0; dword < shown; ++dword) {
    append_line(out, packet.dwords[dword], lines_[dword]);
  }
  if (shown < packet.dwords.size()) {
    packets::append(out, "  ... {} more dwords\n", packet.dwords.size() - shown);
  }
}

void Dumper::append(std::string& out, const Packet& packet, uint32_t offset) {
  if (packet.row) {
    out += packet.row->name;
  } else {
    out += packet.name();
  }
  out += '\n';
  append_dwords(out, packet, offset);
  if (packet.error) packets::append(out, "  ! {}\n", packet.error->message);
}

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
  append_register(text, address, value, family);
  return text;
}

std::string dump(const Packet& packet, const DumpOptions& options) {
  std::string out;
  Dumper(options).append(out, packet);
  return out;
}

std::string dump_stream(Language language, std::span<const uint32_t> stream, GfxFamily family,
                        const DumpOptions& options) {
  std::string out;
  Dumper dumper(options);
  PacketCursor cursor(language, stream, family);
  while (!cursor.done()) {
    const auto offset = static_cast<uint32_t>(cursor.offset());
    append_offset(out, offset);
    dumper.append(out, cursor.packet(), offset);
    if (cursor.packet().ok()) {
      cursor.advance();
    } else {
      const size_t skipped = cursor.resync();
      append_offset(out, offset);
      append(out, "! {} dwords skipped\n", skipped);
    }
  }
  return out;
}

}  // namespace doppel::packets
