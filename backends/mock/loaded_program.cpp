#include "backends/mock/loaded_program.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace doppel::mock {
namespace {

constexpr uint64_t kImageAlignment = 4096;
constexpr uint64_t kMostImageBytes = uint64_t{1} << 28;  // looked through for its beginning
constexpr uint32_t kMostSegments = 64;
constexpr uint32_t kMostDynamicEntries = 64;
constexpr uint32_t kMostSymbols = 1 << 16;
constexpr size_t kMostNameBytes = 512;

template <class T>
requires std::is_trivially_copyable_v<T> std::optional<T> load(const emu::GpuVm& vm, uint64_t va) {
  T value;
  if (!vm.read(va, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

/// The last image header at or below `pc` in the same mapping.
std::optional<uint64_t> find_image(const emu::GpuVm& vm, uint64_t pc) {
  const emu::Mapping* mapping = vm.find(pc);
  if (mapping == nullptr) return std::nullopt;
  const uint64_t lowest = std::max(mapping->va, pc - std::min(pc, kMostImageBytes));
  for (uint64_t base = pc & ~(kImageAlignment - 1); base >= lowest; base -= kImageAlignment) {
    const auto magic = load<std::array<char, SELFMAG>>(vm, base);
    if (magic && std::memcmp(magic->data(), ELFMAG, SELFMAG) == 0) return base;
    if (base == 0) break;
  }
  return std::nullopt;
}

/// Offsets from the image's beginning.
struct SymbolTable {
  uint64_t symbols = 0;
  uint64_t names = 0;
  uint32_t count = 0;
};

std::optional<uint64_t> find_dynamic_segment(const emu::GpuVm& vm, uint64_t base) {
  const auto header = load<Elf64_Ehdr>(vm, base);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  const uint32_t segments = std::min<uint32_t>(header->e_phnum, kMostSegments);
  for (uint32_t i = 0; i < segments; ++i) {
    const auto segment = load<Elf64_Phdr>(vm, base + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_DYNAMIC) return segment->p_vaddr;
  }
  return std::nullopt;
}

std::optional<SymbolTable> find_symbols(const emu::GpuVm& vm, uint64_t base) {
  const auto dynamic = find_dynamic_segment(vm, base);
  if (!dynamic) return std::nullopt;
  SymbolTable table;
  for (uint32_t i = 0; i < kMostDynamicEntries; ++i) {
    const auto entry = load<Elf64_Dyn>(vm, base + *dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_SYMTAB) table.symbols = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) table.names = entry->d_un.d_ptr;
    if (entry->d_tag != DT_HASH) continue;
    // The hash table's second word is the number of its chains, one a symbol.
    const auto chains = load<uint32_t>(vm, base + entry->d_un.d_ptr + sizeof(uint32_t));
    table.count = std::min(chains.value_or(0), kMostSymbols);
  }
  return table;
}

std::string read_name(const emu::GpuVm& vm, uint64_t va) {
  std::string name;
  while (name.size() < kMostNameBytes) {
    const auto letter = load<char>(vm, va + name.size());
    if (!letter || *letter == '\0') break;
    name += *letter;
  }
  return name;
}

/// "f(int*)" for "_Z1fPi"; what is not mangled as it is.
std::string demangle(std::string name) {
  int status = 0;
  char* readable = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (readable != nullptr) name = readable;
  std::free(readable);
  return name;
}

}  // namespace

std::string function_name(const emu::GpuVm& vm, uint64_t pc) {
  const auto base = find_image(vm, pc);
  if (!base) return {};
  const auto table = find_symbols(vm, *base);
  if (!table) return {};
  for (uint32_t i = 0; i < table->count; ++i) {
    const auto symbol = load<Elf64_Sym>(vm, *base + table->symbols + i * sizeof(Elf64_Sym));
    if (!symbol) break;
    const uint64_t offset = pc - *base - symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && offset < symbol->st_size)
      return demangle(read_name(vm, *base + table->names + symbol->st_name));
  }
  return {};
}

}  // namespace doppel::mock
