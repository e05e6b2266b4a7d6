// ElfImage::parse: the only place that reads ELF structures. libelf finds them; every offset and
// size that it hands out is checked against the file before use.
#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "core/elf_image.h"
#include "core/errors.h"

namespace doppel {
namespace {

constexpr uint8_t kOsAbiAmdgpuHsa = 64;       // ELFOSABI_AMDGPU_HSA
constexpr uint32_t kNoteAmdgpuMetadata = 32;  // NT_AMDGPU_METADATA
constexpr uint64_t kMaxSectionAlignment = 1 << 20;

enum RelocationType : uint32_t {
  R_AMDGPU_NONE = 0,
  R_AMDGPU_ABS32_LO = 1,
  R_AMDGPU_ABS32_HI = 2,
  R_AMDGPU_ABS64 = 3,
  R_AMDGPU_REL32 = 4,
  R_AMDGPU_REL64 = 5,
  R_AMDGPU_ABS32 = 6,
  R_AMDGPU_GOTPCREL = 7,
  R_AMDGPU_GOTPCREL32_LO = 8,
  R_AMDGPU_GOTPCREL32_HI = 9,
  R_AMDGPU_REL32_LO = 10,
  R_AMDGPU_REL32_HI = 11,
  R_AMDGPU_RELATIVE64 = 13,
  R_AMDGPU_REL16 = 14,
};

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};

bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return size <= limit && offset <= limit - size;
}

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// A symbol as a relocation sees it.
struct Resolved {
  std::string name;
  uint64_t offset = 0;
};

}  // namespace

class ElfReader {
 public:
  explicit ElfReader(std::span<const std::byte> file) : file_(file.begin(), file.end()) {}

  Result<ElfImage> read() {
    DOPPEL_TRY(open());
    DOPPEL_TRY(collect_sections());
    DOPPEL_TRY(header_.e_type == ET_DYN ? load_segments() : lay_out_sections());
    DOPPEL_TRY(read_symbols());
    DOPPEL_TRY(relocate());
    DOPPEL_TRY(find_metadata());
    image_.size_ = std::max<uint64_t>(align_up(image_.size_, kImageAlignment), kImageAlignment);
    return std::move(image_);
  }

 private:
  struct Section {
    GElf_Shdr header{};
    std::optional<uint64_t> offset;  // in the image, if it has a place there
  };

  Result<> open() {
    if (file_.size() < sizeof(Elf64_Ehdr)) {
      return malformed(
          fmt::format("The code object ({} bytes) is too short for an ELF header.", file_.size()));
    }
    std::memcpy(&header_, file_.data(), sizeof header_);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) {
      return malformed("The code object does not begin with the ELF magic.");
    }
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_machine != EM_AMDGPU) {
      return malformed(
          fmt::format("The ELF file (class {}, data {}, machine {}) is not 64-bit little-endian "
                      "AMDGPU code.",
                      header_.e_ident[EI_CLASS], header_.e_ident[EI_DATA], header_.e_machine));
    }
    if (header_.e_ident[EI_OSABI] != kOsAbiAmdgpuHsa) {
      return malformed(fmt::format("The ELF file's OS ABI ({}) is not AMDGPU HSA ({}).",
                                   header_.e_ident[EI_OSABI], kOsAbiAmdgpuHsa));
    }
    if (header_.e_type != ET_DYN && header_.e_type != ET_REL) {
      return malformed(
          fmt::format("The ELF file's type ({}) is neither ET_DYN nor ET_REL.", header_.e_type));
    }
    const uint64_t table = uint64_t{header_.e_shentsize} * header_.e_shnum;
    if (header_.e_shnum == 0 || header_.e_shentsize != sizeof(Elf64_Shdr) ||
        !fits(header_.e_shoff, table, file_.size())) {
      return malformed(
          fmt::format("The section table (offset {:#x}, {} entries) is outside of the file of {} "
                      "bytes.",
                      header_.e_shoff, header_.e_shnum, file_.size()));
    }
    if (elf_version(EV_CURRENT) == EV_NONE) return malformed(elf_errmsg(-1));
    elf_.reset(elf_memory(reinterpret_cast<char*>(file_.data()), file_.size()));
    if (elf_ == nullptr || elf_kind(elf_.get()) != ELF_K_ELF) {
      return malformed(fmt::format("The ELF file does not parse ({}).", elf_errmsg(-1)));
    }
    image_.flags_ = header_.e_flags;
    image_.abi_version_ = header_.e_ident[EI_ABIVERSION];
    return {};
  }

  Result<> collect_sections() {
    for (size_t index = 0; index < header_.e_shnum; ++index) {
      Section section;
      Elf_Scn* handle = elf_getscn(elf_.get(), index);
      if (handle == nullptr || gelf_getshdr(handle, &section.header) == nullptr) {
        return malformed(
            fmt::format("Section header {} does not parse ({}).", index, elf_errmsg(-1)));
      }
      const GElf_Shdr& header = section.header;
      if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL &&
          !fits(header.sh_offset, header.sh_size, file_.size())) {
        return malformed(
            fmt::format("Section {} (offset {:#x}, {} bytes) is outside of the file of {} bytes.",
                        index, header.sh_offset, header.sh_size, file_.size()));
      }
      sections_.push_back(section);
    }
    return {};
  }

  Result<> place(uint64_t offset, uint64_t file_offset, uint64_t file_bytes,
                 uint64_t memory_bytes) {
    if (!fits(offset, memory_bytes, kMaxImageBytes) || file_bytes > memory_bytes) {
      return malformed(fmt::format(
          "A segment (address {:#x}, {} bytes, {} in the file) exceeds the image limit of {} "
          "bytes.",
          offset, memory_bytes, file_bytes, kMaxImageBytes));
    }
    if (file_bytes != 0) {
      const auto begin = file_.begin() + static_cast<ptrdiff_t>(file_offset);
      image_.segments_.push_back({offset, {begin, begin + static_cast<ptrdiff_t>(file_bytes)}});
    }
    image_.size_ = std::max(image_.size_, offset + memory_bytes);
    return {};
  }

  Result<> load_segments() {
    const uint64_t table = uint64_t{header_.e_phentsize} * header_.e_phnum;
    if (header_.e_phnum == 0 || header_.e_phentsize != sizeof(Elf64_Phdr) ||
        !fits(header_.e_phoff, table, file_.size())) {
      return malformed(
          fmt::format("The program header table (offset {:#x}, {} entries) is outside of the file "
                      "of {} bytes.",
                      header_.e_phoff, header_.e_phnum, file_.size()));
    }
    for (int index = 0; index < header_.e_phnum; ++index) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf_.get(), index, &segment) == nullptr) {
        return malformed(
            fmt::format("Program header {} does not parse ({}).", index, elf_errmsg(-1)));
      }
      if (segment.p_type != PT_LOAD) continue;
      if (!fits(segment.p_offset, segment.p_filesz, file_.size())) {
        return malformed(
            fmt::format("Segment {} (offset {:#x}, {} bytes) is outside of the file of {} bytes.",
                        index, segment.p_offset, segment.p_filesz, file_.size()));
      }
      DOPPEL_TRY(place(segment.p_vaddr, segment.p_offset, segment.p_filesz, segment.p_memsz));
    }
    for (Section& section : sections_) {
      if ((section.header.sh_flags & SHF_ALLOC) != 0) section.offset = section.header.sh_addr;
    }
    return {};
  }

  Result<> lay_out_sections() {
    for (size_t index = 0; index < sections_.size(); ++index) {
      GElf_Shdr& header = sections_[index].header;
      const bool bits = header.sh_type == SHT_PROGBITS || header.sh_type == SHT_NOBITS;
      if (!bits || (header.sh_flags & SHF_ALLOC) == 0) continue;
      const uint64_t alignment = std::max<uint64_t>(header.sh_addralign, 1);
      if (alignment > kMaxSectionAlignment || (alignment & (alignment - 1)) != 0) {
        return malformed(fmt::format("Section {} has the alignment ({}).", index, alignment));
      }
      const uint64_t offset = align_up(image_.size_, alignment);
      const uint64_t file_bytes = header.sh_type == SHT_NOBITS ? 0 : header.sh_size;
      DOPPEL_TRY(place(offset, header.sh_offset, file_bytes, header.sh_size));
      sections_[index].offset = offset;
    }
    return {};
  }

  const Section* find_section(uint32_t type) const {
    auto found = std::ranges::find_if(
        sections_, [type](const Section& section) { return section.header.sh_type == type; });
    return found == sections_.end() ? nullptr : &*found;
  }

  std::span<const std::byte> bytes_of(const Section& section) const {
    if (section.header.sh_type == SHT_NOBITS || section.header.sh_type == SHT_NULL) return {};
    return std::span(file_).subspan(section.header.sh_offset, section.header.sh_size);
  }

  /// The null-terminated string at `offset` of string table `table`.
  Result<std::string> string_at(uint32_t table, uint64_t offset) const {
    if (table >= sections_.size() || sections_[table].header.sh_type != SHT_STRTAB) {
      return malformed(fmt::format("Section {} is not a string table.", table));
    }
    const auto bytes = bytes_of(sections_[table]);
    if (offset >= bytes.size()) {
      return malformed(
          fmt::format("A name (offset {:#x}) is outside of string table {}.", offset, table));
    }
    const char* begin = reinterpret_cast<const char*>(bytes.data()) + offset;
    return std::string(begin, strnlen(begin, bytes.size() - offset));
  }

  /// Symbol `index` of the symbol table section `table`, placed in the image.
  Result<std::optional<Resolved>> symbol_at(const Section& table, uint64_t index) const {
    const auto bytes = bytes_of(table);
    Elf64_Sym symbol;
    if (index >= bytes.size() / sizeof symbol) {
      return malformed(fmt::format("A symbol index ({}) is outside of its table.", index));
    }
    std::memcpy(&symbol, bytes.data() + index * sizeof symbol, sizeof symbol);
    DOPPEL_ASSIGN(std::string name, string_at(table.header.sh_link, symbol.st_name));
    if (symbol.st_shndx == SHN_UNDEF) return std::nullopt;
    if (symbol.st_shndx >= SHN_LORESERVE) {
      return error(
          StatusCode::Unsupported,
          fmt::format("The symbol ({}) is absolute, common or in LDS (section index {:#x}): "
                      "only a linker can place it.",
                      name, symbol.st_shndx));
    }
    if (symbol.st_shndx >= sections_.size()) {
      return malformed(fmt::format("The symbol ({}) is in section {} of {}.", name, symbol.st_shndx,
                                   sections_.size()));
    }
    const Section& section = sections_[symbol.st_shndx];
    if (!section.offset) return std::nullopt;
    const uint64_t offset =
        header_.e_type == ET_REL ? *section.offset + symbol.st_value : symbol.st_value;
    return Resolved{std::move(name), offset};
  }

  const Section* symbol_table() const {
    const Section* table = find_section(SHT_SYMTAB);
    return table != nullptr ? table : find_section(SHT_DYNSYM);
  }

  Result<> read_symbols() {
    const Section* table = symbol_table();
    if (table == nullptr) return malformed("The ELF file has no symbol table.");
    const auto bytes = bytes_of(*table);
    const uint64_t count = bytes.size() / sizeof(Elf64_Sym);
    for (uint64_t index = 1; index < count; ++index) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + index * sizeof symbol, sizeof symbol);
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if (type != STT_FUNC && type != STT_OBJECT) continue;
      if (symbol.st_shndx >= SHN_LORESERVE) continue;
      DOPPEL_ASSIGN(std::optional<Resolved> resolved, symbol_at(*table, index));
      if (!resolved) continue;
      if (!fits(resolved->offset, symbol.st_size, image_.size_)) {
        return malformed(fmt::format("The symbol ({}) is outside of the image of {} bytes.",
                                     resolved->name, image_.size_));
      }
      image_.symbols_.push_back({std::move(resolved->name), resolved->offset, symbol.st_size});
    }
    return {};
  }

  Result<> relocate() {
    for (size_t index = 0; index < sections_.size(); ++index) {
      const GElf_Shdr& header = sections_[index].header;
      if (header.sh_type == SHT_REL && relocation_applies(header)) {
        return error(StatusCode::Unsupported,
                     fmt::format("Section {} holds relocations without addends.", index));
      }
      if (header.sh_type != SHT_RELA || !relocation_applies(header)) continue;
      DOPPEL_TRY(relocate_section(sections_[index]));
    }
    return {};
  }

  /// In a relocatable file sh_info names the patched section; in a linked one only the loader's own
  /// (allocated) relocations are left to do.
  bool relocation_applies(const GElf_Shdr& header) const {
    if (header_.e_type == ET_DYN) return (header.sh_flags & SHF_ALLOC) != 0;
    return header.sh_info < sections_.size() && sections_[header.sh_info].offset.has_value();
  }

  Result<> relocate_section(const Section& section) {
    if (section.header.sh_link >= sections_.size()) {
      return malformed(
          fmt::format("A relocation section names the symbol table ({}).", section.header.sh_link));
    }
    const Section& symbols = sections_[section.header.sh_link];
    const auto bytes = bytes_of(section);
    const uint64_t origin =
        header_.e_type == ET_REL ? *sections_[section.header.sh_info].offset : 0;
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      std::memcpy(&relocation, bytes.data() + at, sizeof relocation);
      DOPPEL_TRY(apply(relocation, origin + relocation.r_offset, symbols));
    }
    return {};
  }

  Result<> apply(const Elf64_Rela& relocation, uint64_t place, const Section& symbols) {
    const uint32_t type = ELF64_R_TYPE(relocation.r_info);
    if (type == R_AMDGPU_NONE) return {};
    uint64_t target = static_cast<uint64_t>(relocation.r_addend);
    if (type != R_AMDGPU_RELATIVE64) {
      DOPPEL_ASSIGN(std::optional<Resolved> symbol,
                    symbol_at(symbols, ELF64_R_SYM(relocation.r_info)));
      if (!symbol) {
        DOPPEL_ASSIGN(std::string name, name_of(symbols, ELF64_R_SYM(relocation.r_info)));
        return malformed(
            fmt::format("A relocation refers to the symbol ({}), which is not defined.", name));
      }
      target += is_got(type) ? got_slot(symbol->offset) : symbol->offset;
    }
    const uint64_t distance = target - place;
    using Part = ElfImage::Fixup::Part;
    switch (type) {
      case R_AMDGPU_REL64:
        return patch(place, distance, 8);
      case R_AMDGPU_REL32:
      case R_AMDGPU_GOTPCREL:
        return patch_signed32(place, distance);
      case R_AMDGPU_REL32_LO:
      case R_AMDGPU_GOTPCREL32_LO:
        return patch(place, distance & 0xffffffff, 4);
      case R_AMDGPU_REL32_HI:
      case R_AMDGPU_GOTPCREL32_HI:
        return patch(place, distance >> 32, 4);
      case R_AMDGPU_REL16:  // a branch offset: dwords from the next instruction
        return patch(place, ((distance - 4) / 4) & 0xffff, 2);
      case R_AMDGPU_ABS64:
      case R_AMDGPU_RELATIVE64:
        return fix_up(place, target, Part::Whole64);
      case R_AMDGPU_ABS32:
      case R_AMDGPU_ABS32_LO:
        return fix_up(place, target, Part::Low32);
      case R_AMDGPU_ABS32_HI:
        return fix_up(place, target, Part::High32);
      default:
        return error(StatusCode::Unsupported,
                     fmt::format("The relocation type ({}) is not supported.", type));
    }
  }

  static bool is_got(uint32_t type) {
    return type == R_AMDGPU_GOTPCREL || type == R_AMDGPU_GOTPCREL32_LO ||
           type == R_AMDGPU_GOTPCREL32_HI;
  }

  Result<std::string> name_of(const Section& symbols, uint64_t index) const {
    const auto bytes = bytes_of(symbols);
    Elf64_Sym symbol;  // symbol_at has checked the index
    std::memcpy(&symbol, bytes.data() + index * sizeof symbol, sizeof symbol);
    return string_at(symbols.header.sh_link, symbol.st_name);
  }

  /// The offset of the global offset table's entry for `target`, made at the image's end on demand.
  uint64_t got_slot(uint64_t target) {
    auto [entry, is_new] = got_.try_emplace(target, 0);
    if (is_new) {
      entry->second = align_up(image_.size_, 8);
      image_.size_ = entry->second + 8;
      image_.fixups_.push_back({entry->second, target, ElfImage::Fixup::Part::Whole64});
    }
    return entry->second;
  }

  Result<> patch_signed32(uint64_t place, uint64_t distance) {
    const auto value = static_cast<int64_t>(distance);
    if (value != static_cast<int32_t>(value)) {
      return malformed(fmt::format("A relocation's distance ({}) does not fit in 32 bits.", value));
    }
    return patch(place, distance, 4);
  }

  Result<> patch(uint64_t place, uint64_t value, uint64_t width) {
    for (ElfImage::Segment& segment : image_.segments_) {
      if (place < segment.offset || !fits(place - segment.offset, width, segment.bytes.size())) {
        continue;
      }
      std::memcpy(segment.bytes.data() + (place - segment.offset), &value, width);
      return {};
    }
    return malformed(
        fmt::format("A relocation (offset {:#x}) is outside of every segment.", place));
  }

  Result<> fix_up(uint64_t place, uint64_t addend, ElfImage::Fixup::Part part) {
    if (!fits(place, part == ElfImage::Fixup::Part::Whole64 ? 8 : 4, image_.size_)) {
      return malformed(fmt::format("A relocation (offset {:#x}) is outside of the image.", place));
    }
    image_.fixups_.push_back({place, addend, part});
    return {};
  }

  Result<> find_metadata() {
    for (size_t index = 0; index < sections_.size(); ++index) {
      if (sections_[index].header.sh_type != SHT_NOTE) continue;
      Elf_Data* data = elf_getdata(elf_getscn(elf_.get(), index), nullptr);
      if (data == nullptr) {
        return malformed(
            fmt::format("The note section {} does not parse ({}).", index, elf_errmsg(-1)));
      }
      GElf_Nhdr note;
      size_t name_at = 0;
      size_t descriptor_at = 0;
      for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name_at, &descriptor_at)) > 0;) {
        if (note.n_type != kNoteAmdgpuMetadata ||
            !fits(descriptor_at, note.n_descsz, data->d_size)) {
          continue;
        }
        const auto* begin = static_cast<const std::byte*>(data->d_buf) + descriptor_at;
        image_.metadata_.assign(begin, begin + note.n_descsz);
        return {};
      }
    }
    return {};
  }

  std::vector<std::byte> file_;
  std::unique_ptr<Elf, ElfCloser> elf_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  std::map<uint64_t, uint64_t> got_;  // target's offset -> its slot's offset
  ElfImage image_;
};

Result<ElfImage> ElfImage::parse(std::span<const std::byte> file) {
  return ElfReader(file).read();
}

}  // namespace doppel
