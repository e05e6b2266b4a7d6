#include "core/code_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/prng.h"
#include "tests/paths.h"

namespace doppel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> read_all(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<char> chars{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_FALSE(chars.empty()) << path;
  const auto* begin = reinterpret_cast<const std::byte*>(chars.data());
  return {begin, begin + chars.size()};
}

std::vector<std::byte> built(std::string_view suffix) {
  return read_all(test::kernel_file("code_object_kernels." + std::string(suffix) + ".co"));
}

std::vector<KernelArgKind> kinds_of(const KernelInfo& kernel) {
  std::vector<KernelArgKind> kinds;
  for (const KernelArg* arg : kernel.explicit_args()) kinds.push_back(arg->kind);
  return kinds;
}

class CodeObjectVersions : public ::testing::TestWithParam<std::pair<const char*, uint32_t>> {};

TEST_P(CodeObjectVersions, KernelsHaveTheirLayout) {
  const auto object = CodeObject::parse(built(GetParam().first));
  ASSERT_TRUE(object) << object.error().to_string();
  EXPECT_EQ(object->version(), GetParam().second);
  EXPECT_EQ(object->target().name, "gfx1100");
  ASSERT_EQ(object->kernels().size(), 2u);

  const KernelInfo& mixed = **object->find_kernel("mixed");
  EXPECT_THAT(kinds_of(mixed), ElementsAre(KernelArgKind::GlobalBuffer, KernelArgKind::GlobalBuffer,
                                           KernelArgKind::ByValue, KernelArgKind::ByValue,
                                           KernelArgKind::DynamicSharedPointer));
  EXPECT_EQ(mixed.args[0].access, MemoryAccess::ReadWrite);
  EXPECT_EQ(mixed.args[1].access, MemoryAccess::Read) << "a pointer to const";
  EXPECT_EQ(mixed.args[2].offset, 16u);
  EXPECT_EQ(mixed.args[2].size, 16u);
  EXPECT_EQ(mixed.args[2].type_name, "Pair");
  EXPECT_EQ(mixed.wave_size, 32u);
  EXPECT_EQ(mixed.descriptor.kernarg_size, mixed.kernarg_bytes);
  EXPECT_FALSE(mixed.required_workgroup_size);
  EXPECT_EQ(mixed.args.size() > 5, GetParam().second >= 5) << "hidden arguments begin with COV5";

  const KernelInfo& fixed = **object->find_kernel("fixed_size");
  EXPECT_THAT(*fixed.required_workgroup_size, ElementsAre(64, 2, 1));
  EXPECT_GE(fixed.private_bytes, 160u);
  EXPECT_EQ(fixed.private_bytes, fixed.descriptor.private_segment_fixed_size);
  EXPECT_NE(fixed.entry_offset, mixed.entry_offset);
}

TEST_P(CodeObjectVersions, ImageHoldsDescriptorsAndIsRelocated) {
  const auto object = CodeObject::parse(built(GetParam().first));
  ASSERT_TRUE(object) << object.error().to_string();
  constexpr uint64_t kBase = 0x7f12'3456'7000;
  std::vector<std::byte> image(object->image_bytes());
  ASSERT_TRUE(object->write_image(kBase, image));
  for (const KernelInfo& kernel : object->kernels()) {
    EXPECT_EQ(std::memcmp(image.data() + kernel.descriptor_offset, &kernel.descriptor,
                          sizeof kernel.descriptor),
              0);
    EXPECT_EQ(kernel.descriptor_offset +
                  static_cast<uint64_t>(kernel.descriptor.kernel_code_entry_byte_offset),
              kernel.entry_offset);
    EXPECT_GT(kernel.code_bytes, 0u);
    EXPECT_LE(kernel.entry_offset + kernel.code_bytes, image.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, CodeObjectVersions,
                         ::testing::Values(std::pair("v4.gfx1100", 4u), std::pair("v5.gfx1100", 5u),
                                           std::pair("v6.gfx1100", 6u),
                                           std::pair("rel.gfx1100", 5u)),
                         [](const auto& info) {
                           return std::string(info.param.first, 2) + std::to_string(info.index);
                         });

/// The linked and the relocatable file come from one source: the same instructions must lie at
/// their entry points, up to the relocated address words.
TEST(CodeObject, RelocatableFileMatchesTheLinkedOne) {
  const auto linked = CodeObject::parse(built("v5.gfx1100"));
  const auto relocatable = CodeObject::parse(built("rel.gfx1100"));
  ASSERT_TRUE(linked && relocatable);
  std::vector<std::byte> linked_image(linked->image_bytes());
  std::vector<std::byte> relocatable_image(relocatable->image_bytes());
  ASSERT_TRUE(linked->write_image(0, linked_image));
  ASSERT_TRUE(relocatable->write_image(0, relocatable_image));
  for (const KernelInfo& left : linked->kernels()) {
    const KernelInfo& right = **relocatable->find_kernel(left.name);
    ASSERT_EQ(left.code_bytes, right.code_bytes);
    EXPECT_EQ(left.descriptor.compute_pgm_rsrc1, right.descriptor.compute_pgm_rsrc1);
    uint32_t different_words = 0;
    for (uint64_t at = 0; at < left.code_bytes; at += 4) {
      different_words += std::memcmp(linked_image.data() + left.entry_offset + at,
                                     relocatable_image.data() + right.entry_offset + at, 4) != 0;
    }
    EXPECT_LE(different_words, 4u) << left.name << " refers to `table` twice, lo and hi";
  }
}

TEST(CodeObject, UnknownKernelNamesTheOnesThereAre) {
  const auto object = CodeObject::parse(built("v5.gfx1100"));
  ASSERT_TRUE(object);
  const auto kernel = object->find_kernel("absent");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), StatusCode::NotFound);
  EXPECT_THAT(kernel.error().message(), HasSubstr("mixed, fixed_size"));
}

TEST(CodeObject, ImageNeedsItsSizeAndAlignment) {
  const auto object = CodeObject::parse(built("v5.gfx1100"));
  ASSERT_TRUE(object);
  std::vector<std::byte> image(object->image_bytes());
  EXPECT_EQ(object->write_image(0x1010, image).error().code(), StatusCode::InvalidArgument);
  image.pop_back();
  EXPECT_EQ(object->write_image(0x1000, image).error().code(), StatusCode::InvalidArgument);
}

TEST(CodeObjectHostile, EveryTruncationIsRefused) {
  for (const char* suffix : {"v5.gfx1100", "rel.gfx1100"}) {
    const auto file = built(suffix);
    for (size_t size = 0; size < file.size(); size += size < 256 ? 1 : 7) {
      const std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
      const auto object = CodeObject::parse(cut);
      ASSERT_FALSE(object) << suffix << " cut to " << size;
      ASSERT_EQ(object.error().code(), StatusCode::Malformed) << object.error().to_string();
    }
  }
}

TEST(CodeObjectHostile, MutationsNeverCrash) {
  Prng random(20240711);
  size_t accepted = 0;
  for (const char* suffix : {"v4.gfx1100", "v5.gfx1100", "rel.gfx1100"}) {
    const auto original = built(suffix);
    for (int round = 0; round < 3000; ++round) {
      auto file = original;
      for (uint64_t flips = 1 + random.below(8); flips > 0; --flips) {
        file[random.below(file.size())] = static_cast<std::byte>(random.next());
      }
      const auto object = CodeObject::parse(file);
      if (!object || object->image_bytes() > (1 << 24)) continue;
      std::vector<std::byte> image(object->image_bytes());
      EXPECT_TRUE(object->write_image(0x1000, image));
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 0u) << "the mutations were too rough to test anything behind the header";
}

TEST(CodeObjectHostile, HeaderFieldsAreChecked) {
  struct Case {
    size_t offset;
    std::vector<uint8_t> bytes;
    StatusCode code;
    const char* message;
  };
  const auto original = built("v5.gfx1100");
  const Case cases[] = {
      {0, {0x7e}, StatusCode::Malformed, "ELF magic"},
      {4, {1}, StatusCode::Malformed, "not 64-bit little-endian AMDGPU"},
      {7, {0}, StatusCode::Malformed, "OS ABI (0)"},
      {8, {9}, StatusCode::Unsupported, "code object version (11)"},
      {16, {2}, StatusCode::Malformed, "type (2)"},
      {18, {62}, StatusCode::Malformed, "machine 62"},
      {48, {0x99}, StatusCode::Unsupported, "EF_AMDGPU_MACH 0x99"},
      {48, {0x36}, StatusCode::Malformed, "is not that of the ELF header (gfx1030)"},
      {40, {0, 0, 0, 0, 0, 0, 0, 0x7f}, StatusCode::Malformed, "section table"},
      {32, {0, 0, 0, 0, 0, 0, 0, 0x7f}, StatusCode::Malformed, "program header table"},
  };
  for (const Case& test : cases) {
    auto file = original;
    std::memcpy(file.data() + test.offset, test.bytes.data(), test.bytes.size());
    const auto object = CodeObject::parse(file);
    ASSERT_FALSE(object) << test.message;
    EXPECT_EQ(object.error().code(), test.code) << object.error().to_string();
    EXPECT_THAT(object.error().message(), HasSubstr(test.message));
  }
}

TEST(CodeObjectHostile, AbsurdSegmentSizeIsRefused) {
  auto file = built("v5.gfx1100");
  // p_memsz of the second program header (the first PT_LOAD): 64 + 56 + 40.
  const uint64_t absurd = uint64_t{1} << 60;
  std::memcpy(file.data() + 160, &absurd, sizeof absurd);
  const auto object = CodeObject::parse(file);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code(), StatusCode::Malformed);
  EXPECT_THAT(object.error().message(), HasSubstr("exceeds the image limit"));
}

/// Code that a third party's compiler emitted: relocatable files of a JIT.
TEST(CodeObject, CapturedRelocatableKernelsParse) {
  const std::filesystem::path folder = test::shared_dir() / "vectors" / "kernels";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not on this machine";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".co") continue;
    const auto object = CodeObject::parse(read_all(entry.path()));
    ASSERT_TRUE(object) << entry.path() << ": " << object.error().to_string();
    ASSERT_EQ(object->kernels().size(), 1u);
    EXPECT_EQ(object->kernels()[0].entry_offset, 0u) << ".text comes first in these files";
    ++count;
  }
  EXPECT_GE(count, 15u);
}

}  // namespace
}  // namespace doppel
