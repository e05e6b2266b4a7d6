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

void append_line(std::string& out, const DumpOptions& options, uint32_t dword,
                 std::string_view text) {
  if (options.raw) {
    fmt::format_to(std::back_inserter(out), "  {:08x}{}{}\n", dword, text.empty() ? "" : "  ",
                   text);
  } else if (!text.empty()) {
    fmt::format_to(std::back_inserter(out), "  {}\n", text);
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
  for (uint32_t dword = 0; dword < fixed; ++dword) {
    append_line(out, options, packet.dwords[dword], fields_of_dword(fields, dword, packet.family));
  }
  for (size_t index = 0; index < shown; ++index) {
    append_line(out, options, payload[index], payload_text(packet, index));
  }
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
  PacketCursor cursor(language, stream, family);
  while (!cursor.done()) {
    fmt::format_to(std::back_inserter(out), "{:05x}: {}", cursor.offset(),
                   dump(cursor.packet(), options));
    if (cursor.packet().ok()) {
      cursor.advance();
      continue;
    }
    const size_t from = cursor.offset();
    const size_t skipped = cursor.resync();
    fmt::format_to(std::back_inserter(out), "{:05x}: ! {} dwords skipped\n", from, skipped);
  }
  return out;
}

}  // namespace doppel::packets
