// doppel_run_kernel: code objects of both containers, and everything a caller can get wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "emulator/capi/doppel.h"
#include "tests/emulator/isa/oracle/llvm_mc.h"
#include "tests/paths.h"

namespace {

using ::testing::HasSubstr;

std::vector<char> read_kernel(const std::string& name) {
  std::ifstream file(doppel::test::kernel_file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A launch with storage for what it points to.
class Launch {
 public:
  Launch() {
    launch.struct_size = sizeof launch;
    launch.report = report_;
    launch.report_size = sizeof report_;
    for (int axis = 0; axis < 3; ++axis) launch.grid[axis] = launch.workgroup[axis] = 1;
  }

  uint64_t add(std::span<std::byte> memory, uint32_t access = DOPPEL_READ | DOPPEL_WRITE) {
    const uint64_t address = 0x10000000 + ranges_.size() * 0x1000000;
    ranges_.push_back({address, memory.data(), memory.size(), access, 0});
    launch.ranges = ranges_.data();
    launch.range_count = ranges_.size();
    return address;
  }
  template <class T>
  uint64_t add(std::vector<T>& memory, uint32_t access = DOPPEL_READ | DOPPEL_WRITE) {
    return add(std::as_writable_bytes(std::span(memory)), access);
  }
  doppel_range& range(size_t index) { return ranges_[index]; }

  doppel_result run() { return doppel_run_kernel(&launch); }
  std::string report() const { return report_; }

  doppel_launch launch{};

 private:
  char report_[2048] = "";
  std::vector<doppel_range> ranges_;
};

/// vector_add over `count` floats, hidden arguments of code object version 5 included.
class VectorAdd : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr uint32_t kCount = 1000, kWorkgroup = 256;

  void SetUp() override {
    a_.resize(kCount);
    b_.resize(kCount);
    out_.resize(kCount);
    std::iota(a_.begin(), a_.end(), 0.f);
    std::iota(b_.begin(), b_.end(), 1000.f);
    code_ = read_kernel(std::string("vector_add.") + GetParam() + ".co");
    ASSERT_FALSE(code_.empty());
    kernarg_.resize(64);
    kernarg_[0] = on_.add(a_, DOPPEL_READ);
    kernarg_[1] = on_.add(b_, DOPPEL_READ);
    kernarg_[2] = on_.add(out_);
    kernarg_[3] = kCount;
    // Hidden block counts (u32 x 3) and group sizes (u16 x 3) follow.
    const uint32_t blocks = (kCount + kWorkgroup - 1) / kWorkgroup;
    kernarg_[4] = blocks | uint64_t{1} << 32;
    kernarg_[5] = 1 | uint64_t{kWorkgroup} << 32 | uint64_t{1} << 48;
    kernarg_[6] = 1;
    doppel_launch& launch = on_.launch;
    launch.kernarg = on_.add(kernarg_, DOPPEL_READ);
    launch.code = code_.data();
    launch.code_size = code_.size();
    launch.kernel = "vector_add";
    launch.grid[0] = blocks;
    launch.workgroup[0] = kWorkgroup;
  }

  Launch on_;
  std::vector<float> a_, b_, out_;
  std::vector<uint64_t> kernarg_;
  std::vector<char> code_;
};

TEST_P(VectorAdd, RunsACodeObject) {
  ASSERT_EQ(on_.run(), DOPPEL_OK) << on_.report();
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out_[i], a_[i] + b_[i]) << i;
  EXPECT_EQ(on_.launch.waves, 32u);
  EXPECT_GT(on_.launch.wave_instructions, 32u * 5);
}

TEST_P(VectorAdd, NamesWhatIsOutsideOfItsRanges) {
  on_.range(1).size -= 8;
  ASSERT_EQ(on_.run(), DOPPEL_FAULT);
  EXPECT_THAT(on_.report(), HasSubstr("UnmappedAccess"));
  EXPECT_THAT(on_.report(), HasSubstr("global_load"));
  EXPECT_THAT(on_.report(), HasSubstr("nearest allocation"));
}

TEST_P(VectorAdd, StopsAtTheInstructionBudget) {
  on_.launch.instruction_budget = 10;
  EXPECT_EQ(on_.run(), DOPPEL_BUDGET_EXCEEDED);
  EXPECT_THAT(on_.report(), HasSubstr("InstructionBudget"));
}

TEST_P(VectorAdd, RefusesLaunchesThatMakeNoSense) {
  const auto refuses = [&](doppel_result expected, const char* why) {
    EXPECT_EQ(on_.run(), expected) << why;
    EXPECT_THAT(on_.report(), HasSubstr(why));
  };
  const doppel_launch good = on_.launch;
  on_.launch.kernel = "absent";
  refuses(DOPPEL_MALFORMED_CODE, "absent");
  on_.launch = good;
  on_.launch.target = "gfx1200";
  refuses(DOPPEL_INVALID_ARGUMENT, "another target");
  on_.launch = good;
  on_.launch.target = "gfx1";
  refuses(DOPPEL_MALFORMED_CODE, "gfx1");
  on_.launch = good;
  on_.launch.kernarg = 0;
  refuses(DOPPEL_INVALID_ARGUMENT, "takes arguments");
  on_.launch = good;
  on_.launch.code_size = 100;
  EXPECT_EQ(on_.run(), DOPPEL_MALFORMED_CODE);
  on_.launch = good;
  on_.launch.code = nullptr;
  refuses(DOPPEL_INVALID_ARGUMENT, "no code");
  on_.launch = good;
  on_.launch.code_kind = 7;
  refuses(DOPPEL_INVALID_ARGUMENT, "kind of code");
  on_.launch = good;
  on_.launch.grid[1] = 0;
  EXPECT_EQ(on_.run(), DOPPEL_INVALID_ARGUMENT);
  on_.launch = good;
  on_.launch.workgroup[0] = 100000;
  EXPECT_EQ(on_.run(), DOPPEL_INVALID_ARGUMENT);
  on_.launch = good;
  on_.launch.lds_bytes = 1 << 20;
  EXPECT_EQ(on_.run(), DOPPEL_INVALID_ARGUMENT);
  on_.launch = good;
  on_.launch.ranges = nullptr;
  refuses(DOPPEL_INVALID_ARGUMENT, "null pointer");
}

TEST_P(VectorAdd, RefusesRangesThatCannotBe) {
  const auto with_range = [&](doppel_range range) {
    std::vector<doppel_range> ranges(on_.launch.ranges, on_.launch.ranges + on_.launch.range_count);
    ranges.push_back(range);
    doppel_launch launch = on_.launch;
    launch.ranges = ranges.data();
    launch.range_count = ranges.size();
    return doppel_run_kernel(&launch);
  };
  char byte = 0;
  EXPECT_EQ(with_range({0x10000004, &byte, 1, DOPPEL_READ, 0}), DOPPEL_INVALID_ARGUMENT);
  EXPECT_THAT(on_.report(), HasSubstr("overlaps"));
  EXPECT_EQ(with_range({0x90000000, &byte, 0, DOPPEL_READ, 0}), DOPPEL_INVALID_ARGUMENT);
  EXPECT_EQ(with_range({0x90000000, &byte, 1, 0, 0}), DOPPEL_INVALID_ARGUMENT);
  EXPECT_EQ(with_range({0x90000000, &byte, 1, 8, 0}), DOPPEL_INVALID_ARGUMENT);
  EXPECT_EQ(with_range({0x90000000, nullptr, 1, DOPPEL_READ, 0}), DOPPEL_INVALID_ARGUMENT);
  EXPECT_EQ(with_range({uint64_t{1} << 47, &byte, 1, DOPPEL_READ, 0}), DOPPEL_INVALID_ARGUMENT);
  EXPECT_EQ(with_range({~uint64_t{0}, &byte, 2, DOPPEL_READ, 0}), DOPPEL_INVALID_ARGUMENT);
}

TEST_P(VectorAdd, CutsTheReportToFit) {
  on_.launch.kernel = "absent";
  on_.launch.report_size = 8;
  EXPECT_EQ(on_.run(), DOPPEL_MALFORMED_CODE);
  EXPECT_EQ(on_.report().size(), 7u);
  on_.launch.report = nullptr;
  EXPECT_EQ(on_.run(), DOPPEL_MALFORMED_CODE);
}

TEST_P(VectorAdd, GivesTheSameOnSeveralThreads) {
  on_.launch.workers = 4;
  ASSERT_EQ(on_.run(), DOPPEL_OK) << on_.report();
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out_[i], a_[i] + b_[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Targets, VectorAdd,
                         ::testing::Values("gfx1100", "gfx1030", "cov4.gfx1100", "cov4.gfx1030"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

class ScratchKernel : public ::testing::TestWithParam<const char*> {};

uint32_t scratch_dynamic(uint32_t in, uint32_t i, uint32_t shift) {
  uint32_t values[64];
  for (uint32_t k = 0; k < 64; ++k) values[(k * 7 + i) & 63] = in + k * k;
  uint32_t sum = 0;
  for (uint32_t k = 0; k < 64; ++k) sum = sum * 31 + values[(k + shift + i) & 63];
  return sum;
}

TEST_P(ScratchKernel, HasPrivateMemory) {
  constexpr uint32_t kCount = 200, kShift = 5, kWorkgroup = 64;
  Launch on;
  std::vector<uint32_t> in(kCount), out(kCount);
  std::iota(in.begin(), in.end(), 17u);
  std::vector<uint64_t> kernarg(64);
  kernarg[0] = on.add(in, DOPPEL_READ);
  kernarg[1] = on.add(out);
  kernarg[2] = kShift | uint64_t{kCount} << 32;
  kernarg[3] = 4 | uint64_t{1} << 32;
  kernarg[4] = 1 | uint64_t{kWorkgroup} << 32 | uint64_t{1} << 48;
  kernarg[5] = 1;
  const auto code = read_kernel(std::string("scratch.") + GetParam() + ".co");
  on.launch.kernarg = on.add(kernarg, DOPPEL_READ);
  on.launch.code = code.data();
  on.launch.code_size = code.size();
  on.launch.kernel = "scratch_dynamic";
  on.launch.grid[0] = 4;
  on.launch.workgroup[0] = kWorkgroup;
  ASSERT_EQ(on.run(), DOPPEL_OK) << on.report();
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], scratch_dynamic(in[i], i, kShift)) << i;
}

INSTANTIATE_TEST_SUITE_P(Targets, ScratchKernel, ::testing::Values("gfx1100", "gfx1030"));

TEST(RawCode, NeedsATarget) {
  const uint32_t code[] = {0xbfb00000};
  Launch on;
  on.launch.code_kind = DOPPEL_CODE_RAW;
  on.launch.code = code;
  on.launch.code_size = sizeof code;
  EXPECT_EQ(on.run(), DOPPEL_INVALID_ARGUMENT);
  on.launch.target = "gfx1100";
  EXPECT_EQ(on.run(), DOPPEL_OK) << on.report();
  on.launch.wave_size = 64;
  EXPECT_EQ(on.run(), DOPPEL_OK) << on.report();
  on.launch.wave_size = 16;
  EXPECT_EQ(on.run(), DOPPEL_INVALID_ARGUMENT);
  on.launch.wave_size = 0;
  on.launch.code_size = 3;
  EXPECT_EQ(on.run(), DOPPEL_INVALID_ARGUMENT);
}

TEST(RawCode, RunsOffItsEndIntoAFault) {
  const uint32_t code[] = {0x7e000280};  // v_mov_b32 v0, 0, and nothing behind it
  Launch on;
  on.launch.code_kind = DOPPEL_CODE_RAW;
  on.launch.code = code;
  on.launch.code_size = sizeof code;
  on.launch.target = "gfx1100";
  on.launch.instruction_budget = 1000;
  EXPECT_NE(on.run(), DOPPEL_OK);
  EXPECT_FALSE(on.report().empty());
}

}  // namespace
