#include "core/elf_image.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace doppel {

const ElfSymbol* ElfImage::find_symbol(std::string_view name) const {
  auto found = std::ranges::find(symbols_, name, &ElfSymbol::name);
  return found == symbols_.end() ? nullptr : &*found;
}

Result<> ElfImage::read(uint64_t offset, std::span<std::byte> out) const {
  if (out.size() > size_ || offset > size_ - out.size()) {
    return error(StatusCode::OutOfRange,
                 fmt::format("The range (offset {:#x}, {} bytes) is outside of the image of {} "
                             "bytes.",
                             offset, out.size(), size_));
  }
  std::ranges::fill(out, std::byte{0});
  const uint64_t end = offset + out.size();
  for (const Segment& segment : segments_) {
    const uint64_t first = std::max(offset, segment.offset);
    const uint64_t last = std::min(end, segment.offset + segment.bytes.size());
    if (first >= last) continue;
    std::memcpy(out.data() + (first - offset), segment.bytes.data() + (first - segment.offset),
                last - first);
  }
  return {};
}

Result<> ElfImage::write(uint64_t base, std::span<std::byte> out) const {
  if (out.size() != size_) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The buffer ({} bytes) does not have the image's size ({} bytes).",
                             out.size(), size_));
  }
  if (base % kImageAlignment != 0) {
    return error(
        StatusCode::InvalidArgument,
        fmt::format("The load address ({:#x}) is not aligned to {} bytes.", base, kImageAlignment));
  }
  DOPPEL_TRY(read(0, out));
  for (const Fixup& fixup : fixups_) {
    const uint64_t value = base + fixup.addend;
    const uint32_t half =
        static_cast<uint32_t>(fixup.part == Fixup::Part::High32 ? value >> 32 : value);
    std::byte* place = out.data() + fixup.offset;  // in range: checked when the file was read
    if (fixup.part == Fixup::Part::Whole64) {
      std::memcpy(place, &value, sizeof value);
    } else {
      std::memcpy(place, &half, sizeof half);
    }
  }
  return {};
}

}  // namespace doppel
