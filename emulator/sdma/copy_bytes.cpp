#include "emulator/sdma/copy_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace doppel::emu {
namespace {

/// Byte order 0, 1, 2, ...: pieces no longer than the distance never read what they write.
void copy_forwards(std::byte* destination, const std::byte* source, size_t size) {
  const auto distance = static_cast<size_t>(destination - source);
  if (destination <= source || distance >= size) {
    std::memmove(destination, source, size);
    return;
  }
  // The result repeats the first `distance` bytes: what is written so far serves as the source, in
  // pieces that double.
  std::memcpy(destination, source, distance);
  for (size_t done = distance; done < size;) {
    const size_t piece = std::min(done, size - done);
    std::memcpy(destination + done, destination, piece);
    done += piece;
  }
}

/// Byte order size - 1, ..., 1, 0.
void copy_backwards(std::byte* destination, const std::byte* source, size_t size) {
  const auto distance = static_cast<size_t>(source - destination);
  if (source <= destination || distance >= size) {
    std::memmove(destination, source, size);
    return;
  }
  for (size_t left = size; left != 0;) {
    const size_t piece = std::min(distance, left);
    left -= piece;
    std::memcpy(destination + left, source + left, piece);
  }
}

/// How much of [va, va + size) lies in the extent of its last byte, and where.
std::expected<std::span<std::byte>, MemoryFault> translate_suffix(const GpuVm& vm, uint64_t va,
                                                                  uint64_t size, Access access) {
  const Mapping* mapping = vm.find(va + size - 1);
  if (!mapping) return std::unexpected(vm.fault_at(va + size - 1, 1, access));
  const uint64_t begin = std::max(va, mapping->va);
  return vm.translate_prefix(begin, va + size - begin, access);
}

}  // namespace

std::expected<void, MemoryFault> copy_bytes(const GpuVm& vm, uint64_t destination, uint64_t source,
                                            uint64_t size, CopyDirection direction) {
  const bool forwards = direction == CopyDirection::Forwards;
  auto translate = [&](uint64_t va, Access access) {
    return forwards ? vm.translate_prefix(va, size, access)
                    : translate_suffix(vm, va, size, access);
  };
  while (size != 0) {
    const auto from = translate(source, Access::Read);
    if (!from) return std::unexpected(from.error());
    const auto to = translate(destination, Access::Write);
    if (!to) return std::unexpected(to.error());
    const size_t piece = std::min(from->size(), to->size());
    size -= piece;
    if (forwards) {
      copy_forwards(to->data(), from->data(), piece);
      source += piece;
      destination += piece;
    } else {
      copy_backwards(to->last(piece).data(), from->last(piece).data(), piece);
    }
  }
  return {};
}

std::expected<void, MemoryFault> fill_bytes(const GpuVm& vm, uint64_t destination, uint64_t size,
                                            uint32_t value, uint32_t element_bytes) {
  std::array<std::byte, 4> element{};
  for (size_t i = 0; i < element.size(); ++i) {
    element[i] = static_cast<std::byte>(value >> i % element_bytes * 8);
  }
  uint64_t phase = 0;
  while (size != 0) {
    const auto to = vm.translate_prefix(destination, size, Access::Write);
    if (!to) return std::unexpected(to.error());
    const size_t first = std::min<size_t>(to->size(), element.size());
    for (size_t i = 0; i < first; ++i) (*to)[i] = element[(phase + i) % element.size()];
    // The rest repeats the four bytes.
    if (to->size() > first) copy_forwards(to->data() + first, to->data(), to->size() - first);
    phase += to->size();
    destination += to->size();
    size -= to->size();
  }
  return {};
}

}  // namespace doppel::emu
