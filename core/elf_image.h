// ElfImage: the container half of a code object: an AMDGPU ELF file laid out as it will lie in GPU
// memory, its symbols as offsets into that layout, and its metadata note.
//
// A linked file (ET_DYN) keeps the addresses of its program headers. A relocatable one (ET_REL) is
// linked here: its allocated sections are laid out in file order, PC-relative relocations are
// applied at once, absolute ones when the image is written for its address.
//
// Source: System V ABI (ELF-64); relocation types: LLVM "User Guide for AMDGPU Backend", section
// "Relocation Records". Immutable once parsed; safe to share between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace doppel {

inline constexpr uint64_t kImageAlignment = 4096;
/// No real code object comes near; a file that claims more is damaged.
inline constexpr uint64_t kMaxImageBytes = uint64_t{1} << 31;

struct ElfSymbol {
  std::string name;
  uint64_t offset = 0;  // in the image
  uint64_t size = 0;    // bytes
};

class ElfImage {
 public:
  /// Malformed for a damaged file or one that isn't little-endian 64-bit AMDGPU HSA code;
  /// Unsupported for a relocation that only a full linker can resolve.
  static Result<ElfImage> parse(std::span<const std::byte> file);

  uint32_t flags() const { return flags_; }              // e_flags
  uint32_t abi_version() const { return abi_version_; }  // EI_ABIVERSION
  uint64_t size() const { return size_; }                // bytes of memory
  std::span<const ElfSymbol> symbols() const { return symbols_; }
  const ElfSymbol* find_symbol(std::string_view name) const;
  /// The descriptor of the NT_AMDGPU_METADATA note (MessagePack); empty if there is none.
  std::span<const std::byte> metadata() const { return metadata_; }

  /// Copies bytes of the image as they are before absolute relocation. OutOfRange outside of it.
  Result<> read(uint64_t offset, std::span<std::byte> out) const;

  /// Writes the whole image, relocated for `base`, to `out`. InvalidArgument if `out` is not size()
  /// bytes long or `base` not aligned to kImageAlignment.
  Result<> write(uint64_t base, std::span<std::byte> out) const;

 private:
  friend class ElfReader;

  /// Bytes of the file that go to `offset`; what no segment covers is zero.
  struct Segment {
    uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  /// A place that depends on where the image is loaded: it takes base + addend, or half of it.
  struct Fixup {
    enum class Part : uint8_t { Whole64, Low32, High32 };
    uint64_t offset = 0;
    uint64_t addend = 0;
    Part part = Part::Whole64;
  };

  uint32_t flags_ = 0;
  uint32_t abi_version_ = 0;
  uint64_t size_ = 0;
  std::vector<Segment> segments_;
  std::vector<Fixup> fixups_;
  std::vector<ElfSymbol> symbols_;
  std::vector<std::byte> metadata_;
};

}  // namespace doppel
