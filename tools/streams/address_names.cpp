#include "tools/streams/address_names.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace doppel::streams {

std::optional<uint64_t> AddressNames::address_of(std::string_view text) {
  const size_t plus = text.rfind("+0x");
  if (plus == std::string_view::npos || plus == 0) return std::nullopt;
  uint64_t offset = 0;
  const std::string_view digits = text.substr(plus + 3);
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), offset, 16);
  if (status != std::errc() || end != digits.data() + digits.size() || offset >> kRangeBits) {
    return std::nullopt;
  }
  const std::string name(text.substr(0, plus));
  const auto known = std::ranges::find(names_, name);
  const auto index = static_cast<size_t>(known - names_.begin());
  if (known == names_.end()) {
    if (names_.size() == kMaxNames) return std::nullopt;
    names_.push_back(name);
  }
  return kFirst + (uint64_t{index} << kRangeBits) + offset;
}

std::string AddressNames::name_of(uint64_t address) const {
  if (address < kFirst) return {};
  const uint64_t index = (address - kFirst) >> kRangeBits;
  if (index >= names_.size()) return {};
  return fmt::format("{}+0x{:x}", names_[index], address & ((uint64_t{1} << kRangeBits) - 1));
}

}  // namespace doppel::streams
