#include "tools/vectors/vector_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "tests/paths.h"
#include "tests/tools/isa_case_builder.h"

namespace doppel::vectors {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class VectorSetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("vector_set_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::span<const std::byte> bytes) {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  }
  void write(const std::string& name, const std::string& text) {
    write(name, std::as_bytes(std::span(text)));
  }

  static std::vector<std::byte> pack(std::span<const std::byte> bytes) {
    std::vector<std::byte> packed(ZSTD_compressBound(bytes.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1));
    return packed;
  }

  fs::path folder_;
};

const char* const kManifest = R"([{
  "name": "k", "kernel": "sym", "co": "k.co", "grid": [1, 2, 3], "block": [4, 5, 6],
  "vals": [-7], "kernarg_size": 12, "lds": 64, "scratch_per_lane": 16,
  "rsrc1": 1, "rsrc2": 2, "rsrc3": 3, "wave32": false, "wave_insts": 99,
  "numpy_max_rel_err": 0.5,
  "buffers": [{"size": 4, "kernarg_offset": 0, "written": true, "out": "o.bin"}]}])";

TEST_F(VectorSetTest, FindsCasesAndKernelsBelowAFolder) {
  fs::create_directories(folder_ / "kernels");
  write("a.bin.zst", pack(build_record({.id = 1})));
  write("b.bin", build_record({.id = 2}));
  write("kernels/manifest.json", kManifest);
  write("kernels/k.co", "ELF");
  write("kernels/o.bin", "1234");
  auto sets = load_vector_sets(folder_);
  ASSERT_TRUE(sets) << sets.error().to_string();
  ASSERT_EQ(sets->size(), 3u);
  EXPECT_EQ(std::get<0>(sets->at(0).content).front().id, 1u);
  EXPECT_EQ(std::get<0>(sets->at(1).content).front().id, 2u);
  const CapturedKernel& kernel = std::get<1>(sets->at(2).content).front();
  EXPECT_EQ(kernel.symbol, "sym");
  EXPECT_EQ(kernel.grid, (std::array<uint32_t, 3>{1, 2, 3}));
  EXPECT_EQ(kernel.block, (std::array<uint32_t, 3>{4, 5, 6}));
  EXPECT_EQ(kernel.values, std::vector<int32_t>{-7});
  EXPECT_EQ(kernel.wave_size, 64u);
  EXPECT_EQ(kernel.tolerance, 0.5);
  EXPECT_EQ(kernel.buffers.front().after.size(), 4u);
}

TEST_F(VectorSetTest, SaysWhatIsWrong) {
  EXPECT_EQ(load_vector_sets(folder_).error().code(), StatusCode::NotFound);
  EXPECT_EQ(load_vector_sets(folder_ / "absent.bin").error().code(), StatusCode::NotFound);

  auto packed = pack(build_record({}));
  packed.resize(packed.size() - 3);
  write("cut.bin.zst", packed);
  EXPECT_THAT(load_vector_sets(folder_ / "cut.bin.zst").error().message(),
              HasSubstr("can't be unpacked"));

  write("manifest.json", "[{]");
  EXPECT_THAT(load_vector_sets(folder_).error().message(), HasSubstr("manifest"));
}

TEST_F(VectorSetTest, RefusesKernelsThatContradictThemselves) {
  write("k.co", "ELF");
  const auto why = [&](const std::string& from, const std::string& to) {
    std::string manifest = kManifest;
    manifest.replace(manifest.find(from), from.size(), to);
    write("manifest.json", manifest);
    auto sets = load_vector_sets(folder_);
    return sets ? "" : sets.error().message();
  };
  write("o.bin", "1234");
  EXPECT_EQ(why("[-7]", "[-7]"), "");
  EXPECT_THAT(why("[-7]", "[1, 2]"), HasSubstr("values lie outside"));
  EXPECT_THAT(why("\"kernarg_offset\": 0", "\"kernarg_offset\": 8"), HasSubstr("address lies"));
  EXPECT_THAT(why("k.co", "../k.co"), HasSubstr("lies in its folder"));
  EXPECT_THAT(why("\"out\": \"o.bin\"", "\"comment\": 1"), HasSubstr("no expected content"));
  EXPECT_THAT(why("\"size\": 4", "\"size\": 8"), HasSubstr("another size"));
}

TEST(SharedVectors, AreReadable) {
  const fs::path folder = test::shared_dir() / "vectors";
  if (!fs::exists(folder)) GTEST_SKIP() << "The vector sets are not on this machine.";
  auto sets = load_vector_sets(folder);
  ASSERT_TRUE(sets) << sets.error().to_string();
  size_t cases = 0;
  size_t kernels = 0;
  for (const VectorSet& set : *sets) {
    if (const auto* list = std::get_if<std::vector<IsaCase>>(&set.content)) cases += list->size();
    if (const auto* list = std::get_if<std::vector<CapturedKernel>>(&set.content))
      kernels += list->size();
  }
  EXPECT_GE(cases, 3263u);
  EXPECT_GE(kernels, 20u);
}

}  // namespace
}  // namespace doppel::vectors
