// AddressNames: gives the named ranges of golden text ("signal+0x8") addresses of their own, so
// that such text decodes like any other, and turns the addresses back into names. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppel::streams {

class AddressNames {
 public:
  /// The address of "name+0x10", which is made up on first sight; nothing for other text, or when
  /// there are more names than address bits.
  std::optional<uint64_t> address_of(std::string_view text);
  bool empty() const { return names_.empty(); }
  /// "name+0x10" for an address that address_of made up; else "".
  std::string name_of(uint64_t address) const;

 private:
  // Ranges lie 2^40 bytes apart in the upper half of a 48-bit address space.
  static constexpr int kRangeBits = 40;
  static constexpr uint64_t kFirst = uint64_t{1} << 47;
  static constexpr size_t kMaxNames = 127;

  std::vector<std::string> names_;
};

}  // namespace doppel::streams
