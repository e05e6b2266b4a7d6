#include "tools/exec/arg_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/device.h"
#include "core/files.h"

namespace doppel::exec {
namespace {

constexpr uint64_t kMaxBufferBytes = uint64_t{4} << 30;

struct TypeRow {
  std::string_view name;
  ElementType type;
  size_t bytes;
};
constexpr std::array kTypes = {
    TypeRow{"i8", ElementType::I8, 1},   TypeRow{"i16", ElementType::I16, 2},
    TypeRow{"i32", ElementType::I32, 4}, TypeRow{"i64", ElementType::I64, 8},
    TypeRow{"u8", ElementType::U8, 1},   TypeRow{"u16", ElementType::U16, 2},
    TypeRow{"u32", ElementType::U32, 4}, TypeRow{"u64", ElementType::U64, 8},
    TypeRow{"f16", ElementType::F16, 2}, TypeRow{"f32", ElementType::F32, 4},
    TypeRow{"f64", ElementType::F64, 8}, TypeRow{"x32", ElementType::X32, 4},
};

const TypeRow* find_type(std::string_view name) {
  const auto* row = std::ranges::find(kTypes, name, &TypeRow::name);
  return row == kTypes.end() ? nullptr : row;
}

std::unexpected<Status> bad(std::string_view text, std::string_view why) {
  return error(StatusCode::InvalidArgument, fmt::format("The argument {} ({}).", why, text));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

std::optional<double> parse_float(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
std::vector<std::byte> raw(T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

/// The number as an element; nullopt if it is none, or does not fit.
std::optional<std::vector<std::byte>> encode(std::string_view text, ElementType type) {
  switch (type) {
    case ElementType::F16:
      if (const auto value = parse_float(text)) return raw(static_cast<_Float16>(*value));
      return std::nullopt;
    case ElementType::F32:
      if (const auto value = parse_float(text)) return raw(static_cast<float>(*value));
      return std::nullopt;
    case ElementType::F64:
      if (const auto value = parse_float(text)) return raw(*value);
      return std::nullopt;
    default:
      break;
  }
  const bool negative = text.starts_with('-');
  const auto magnitude = parse_integer(negative ? text.substr(1) : text);
  if (!magnitude) return std::nullopt;
  const size_t bits = bytes_of(type) * 8;
  const bool is_signed = type <= ElementType::I64;
  const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t limit = negative ? uint64_t{1} << (bits - 1) : most;
  if (*magnitude > limit || (negative && !is_signed)) return std::nullopt;
  const uint64_t value = negative ? ~*magnitude + 1 : *magnitude;
  std::vector<std::byte> bytes = raw(value);
  bytes.resize(bytes_of(type));
  return bytes;
}

Result<uint64_t> parse_bytes(std::string_view text, std::string_view whole) {
  uint64_t unit = 1;
  for (const auto& [suffix, bytes] :
       {std::pair{"KiB", uint64_t{1} << 10}, std::pair{"MiB", uint64_t{1} << 20}}) {
    if (!text.ends_with(suffix)) continue;
    text.remove_suffix(3);
    unit = bytes;
  }
  const auto count = parse_integer(text);
  if (!count || *count == 0 || *count > kMaxBufferBytes / unit) {
    return bad(whole, "has no size from 1 byte to 4 GiB");
  }
  return *count * unit;
}

std::optional<std::vector<std::byte>> fill_pattern(std::string_view text) {
  if (text.ends_with('f') && !text.starts_with("0x")) {
    return encode(text.substr(0, text.size() - 1), ElementType::F32);
  }
  return encode(text, text.starts_with('-') ? ElementType::I32 : ElementType::U32);
}

void repeat(std::vector<std::byte>& content, std::span<const std::byte> pattern) {
  for (size_t i = 0; i < content.size(); ++i) content[i] = pattern[i % pattern.size()];
}

void ramp(std::vector<std::byte>& content, const TypeRow& type) {
  for (size_t i = 0; (i + 1) * type.bytes <= content.size(); ++i) {
    const auto element = encode(fmt::format("{}", i), type.type);
    if (!element) return;  // the type counts no further
    std::ranges::copy(*element, content.begin() + static_cast<ptrdiff_t>(i * type.bytes));
  }
}

/// "f32x8"
Result<> parse_print(std::string_view text, std::string_view whole, BufferSpec& buffer) {
  const size_t times = text.find('x', 1);
  const TypeRow* type = find_type(text.substr(0, times));
  if (type == nullptr) return bad(whole, "prints as a type that there is not");
  buffer.print = true;
  buffer.print_type = type->type;
  if (times == std::string_view::npos) return {};
  const auto count = parse_integer(text.substr(times + 1));
  if (!count) return bad(whole, "prints a number of elements that is none");
  buffer.print_count = *count;
  return {};
}

Result<> apply(BufferSpec& buffer, std::string_view option, std::string_view whole) {
  const size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view{} : option.substr(equals + 1);
  if (key == "fill") {
    const auto pattern = fill_pattern(value);
    if (!pattern) return bad(whole, "has a fill that is no dword");
    repeat(buffer.content, *pattern);
    return {};
  }
  if (key == "ramp") {
    const TypeRow* type = find_type(value);
    if (type == nullptr) return bad(whole, "has a ramp of a type that there is not");
    ramp(buffer.content, *type);
    return {};
  }
  if (key == "bytes") {
    DOPPEL_ASSIGN(const uint64_t bytes, parse_bytes(value, whole));
    buffer.content.resize(bytes);
    return {};
  }
  if (key == "out" && !value.empty()) {
    buffer.out = value;
    return {};
  }
  if (key == "print") return parse_print(value, whole, buffer);
  return bad(whole, fmt::format("has an unknown part \"{}\"", option));
}

template <class T>
std::string print_one(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (sizeof(T) == 1) {
    return fmt::format("{}", static_cast<int>(value));
  } else {
    return fmt::format("{}", value);
  }
}

std::string print_element(const std::byte* bytes, ElementType type) {
  switch (type) {
    case ElementType::I8:
      return print_one<int8_t>(bytes);
    case ElementType::I16:
      return print_one<int16_t>(bytes);
    case ElementType::I32:
      return print_one<int32_t>(bytes);
    case ElementType::I64:
      return print_one<int64_t>(bytes);
    case ElementType::U8:
      return print_one<uint8_t>(bytes);
    case ElementType::U16:
      return print_one<uint16_t>(bytes);
    case ElementType::U32:
      return print_one<uint32_t>(bytes);
    case ElementType::U64:
      return print_one<uint64_t>(bytes);
    case ElementType::F16: {
      _Float16 value;
      std::memcpy(&value, bytes, sizeof value);
      return fmt::format("{}", static_cast<float>(value));
    }
    case ElementType::F32:
      return print_one<float>(bytes);
    case ElementType::F64:
      return print_one<double>(bytes);
    case ElementType::X32: {
      uint32_t value;
      std::memcpy(&value, bytes, sizeof value);
      return fmt::format("{:#010x}", value);
    }
  }
  return "?";
}

}  // namespace

Result<uint64_t> parse_integer(std::string_view text) {
  std::string_view digits = text;
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value, base);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return error(StatusCode::InvalidArgument, fmt::format("This is no number ({}).", text));
  }
  return value;
}

size_t bytes_of(ElementType type) {
  return std::ranges::find(kTypes, type, &TypeRow::type)->bytes;
}

namespace {

/// As much of a file as its argument takes.
Result<uint64_t> bytes_wanted(std::span<const std::string_view> parts, std::string_view whole) {
  constexpr std::string_view kBytes = "bytes=";
  for (std::string_view part : parts) {
    if (part.starts_with(kBytes)) return parse_bytes(part.substr(kBytes.size()), whole);
  }
  return kMaxFileBytes + 1;
}

}  // namespace

Result<ArgSpec> parse_arg(std::string_view text) {
  const auto parts = split(text);
  const std::string_view kind = parts[0];
  if (parts.size() < 2 || parts[1].empty()) return bad(text, "lacks a value");
  if (kind == "buf" || kind == "file") {
    BufferSpec buffer;
    if (kind == "buf") {
      DOPPEL_ASSIGN(const uint64_t bytes, parse_bytes(parts[1], text));
      buffer.content.resize(bytes);
    } else {
      DOPPEL_ASSIGN(const uint64_t limit, bytes_wanted(parts, text));
      DOPPEL_ASSIGN(buffer.content, read_file(parts[1], limit));
    }
    for (size_t i = 2; i < parts.size(); ++i) DOPPEL_TRY(apply(buffer, parts[i], text));
    if (buffer.content.empty()) return bad(text, "is an empty file");
    return buffer;
  }
  if (parts.size() > 2) return bad(text, "has too many parts");
  if (kind == "local") {
    DOPPEL_ASSIGN(const uint64_t bytes, parse_bytes(parts[1], text));
    if (bytes > std::numeric_limits<uint32_t>::max()) return bad(text, "is more LDS than there is");
    return LocalSpec{static_cast<uint32_t>(bytes)};
  }
  const TypeRow* type = find_type(kind);
  if (type == nullptr) {
    return bad(text, "begins with none of buf, file, local, i8 to i64, u8 to u64, f16 to f64");
  }
  auto bytes = encode(parts[1], type->type);
  if (!bytes) return bad(text, fmt::format("is no value of {}", type->name));
  return ValueSpec{type->type, *std::move(bytes)};
}

std::string print_elements(std::span<const std::byte> bytes, ElementType type, size_t count) {
  const size_t size = bytes_of(type);
  std::string text;
  for (size_t i = 0; i < count && (i + 1) * size <= bytes.size(); ++i) {
    if (i != 0) text += ", ";
    text += print_element(bytes.data() + i * size, type);
  }
  return text;
}

}  // namespace doppel::exec
