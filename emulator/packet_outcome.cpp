#include "emulator/packet_outcome.h"

#include <fmt/format.h>

#include "emulator/memory/mapping_text.h"

namespace doppel::emu {
namespace {

std::optional<uint64_t> load(const MemoryWait& wait, MemoryPort& port) {
  if (wait.is_64) {
    const auto value = port.load<uint64_t>(wait.va);
    return value ? std::optional(*value) : std::nullopt;
  }
  const auto value = port.load<uint32_t>(wait.va);
  return value ? std::optional<uint64_t>(*value) : std::nullopt;
}

}  // namespace

std::string_view to_string(Compare compare) {
  switch (compare) {
    case Compare::Always:
      return "any";
    case Compare::Less:
      return "<";
    case Compare::LessEqual:
      return "<=";
    case Compare::Equal:
      return "==";
    case Compare::NotEqual:
      return "!=";
    case Compare::GreaterEqual:
      return ">=";
    case Compare::Greater:
      return ">";
  }
  return "?";
}

bool passes(Compare compare, uint64_t value, uint64_t reference) {
  switch (compare) {
    case Compare::Always:
      return true;
    case Compare::Less:
      return value < reference;
    case Compare::LessEqual:
      return value <= reference;
    case Compare::Equal:
      return value == reference;
    case Compare::NotEqual:
      return value != reference;
    case Compare::GreaterEqual:
      return value >= reference;
    case Compare::Greater:
      return value > reference;
  }
  return false;
}

bool passes(const MemoryWait& wait, uint64_t value) {
  // Signed numbers are in the order of unsigned ones with the sign bit turned over.
  const uint64_t bias = wait.is_signed ? uint64_t{1} << 63 : 0;
  return passes(wait.compare, (value & wait.mask) ^ bias, wait.reference ^ bias);
}

bool satisfied(const MemoryWait& wait, MemoryPort& port) {
  const auto value = load(wait, port);
  return !value || passes(wait, *value);
}

std::string Wait::describe(MemoryPort& port) const {
  std::string text;
  auto out = std::back_inserter(text);
  for (const MemoryWait& word : words()) {
    if (!text.empty()) text += " or ";
    const uint64_t full = word.is_64 ? ~uint64_t{0} : 0xffffffff;
    const std::string mask =
        (word.mask & full) == full ? "" : fmt::format(" (under mask 0x{:x})", word.mask);
    if (word.is_signed) {
      fmt::format_to(out, "0x{:x} {} {}{}", word.va, to_string(word.compare),
                     static_cast<int64_t>(word.reference), mask);
    } else {
      fmt::format_to(out, "0x{:x} {} {}{}", word.va, to_string(word.compare), word.reference, mask);
    }
    const auto value = load(word, port);
    const Mapping* mapping = port.vm().find(word.va);
    if (!value || !mapping) {
      text += ", which can't be read";
    } else {
      fmt::format_to(out, ", which holds {} ({} +0x{:x})", *value, emu::describe(*mapping),
                     word.va - mapping->va);
    }
  }
  return text;
}

std::unexpected<Fault> fault(FaultKind kind, std::string message) {
  Fault result;
  result.kind = kind;
  result.message = std::move(message);
  return std::unexpected(std::move(result));
}

std::unexpected<Fault> fault(const MemoryFault& memory_fault) {
  return std::unexpected(to_fault(memory_fault));
}

}  // namespace doppel::emu
