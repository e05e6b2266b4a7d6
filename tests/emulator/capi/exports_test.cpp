// libdoppel.so exports what doppel.h declares, and nothing else; and it is small.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

std::vector<char> read_image(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> exported_symbols(const std::vector<char>& image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::set<std::string> names;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const char* strings = image.data() + sections[section.sh_link].sh_offset;
    for (size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image.data() + section.sh_offset + at, sizeof symbol);
      const bool is_defined = symbol.st_shndx != SHN_UNDEF;
      const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (is_defined && is_function) names.insert(strings + symbol.st_name);
    }
  }
  return names;
}

TEST(SharedLibrary, ExportsTheCInterfaceOnly) {
  EXPECT_THAT(exported_symbols(read_image(DOPPEL_SHARED_LIBRARY)),
              ::testing::ElementsAre("doppel_run_kernel", "run_asm"));
}

TEST(SharedLibrary, LoadsLessThanTenMegabytes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "An instrumented library is larger than what users load.";
#endif
  const auto image = read_image(DOPPEL_SHARED_LIBRARY);
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  uint64_t loaded = 0;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) loaded += segment.p_filesz;
  }
  EXPECT_GT(loaded, 0u);
  EXPECT_LT(loaded, 10'000'000u);
}

}  // namespace
