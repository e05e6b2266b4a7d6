#include "core/kernel_args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "core/device.h"
#include "tests/paths.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;

/// The kernels of code_object_kernels.cl as clang lays them out.
const KernelInfo& kernel(std::string_view suffix, std::string_view name) {
  static std::map<std::string, CodeObject, std::less<>> objects;
  auto found = objects.find(suffix);
  if (found == objects.end()) {
    const auto path = test::kernel_file("code_object_kernels." + std::string(suffix) + ".co");
    found = objects.emplace(suffix, CodeObject::parse(read_file(path).value()).value()).first;
  }
  return **found->second.find_kernel(name);
}

struct Pair {
  int32_t low;
  int64_t high;
};

template <class T>
T at(const std::vector<std::byte>& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

MemoryView view(uint64_t address) {
  return {.gpu_address = address, .size = 64};
}

class KernelArgsTest : public ::testing::Test {
 protected:
  Result<> pack(const KernelInfo& info, const KernelArgs& arguments,
                const HiddenArgs& hidden = {}) {
    bytes_.assign(info.kernarg_bytes, std::byte{0xcc});
    return pack_kernel_args(info, arguments, dims_, hidden, bytes_);
  }

  LaunchDims dims_ = *LaunchDims::from(WorkItems(1000, 6), Dim3(64, 4));
  std::vector<std::byte> bytes_;
};

/// Offsets are the compiler's: `mixed(float*, const float*, Pair, int, local float*)`.
TEST_F(KernelArgsTest, ExplicitArgumentsLieWhereTheMetadataSays) {
  const auto arguments =
      args(view(0x1111'2222'3333), view(0x4444), Pair{7, -9}, 42, LocalMemory{100});
  for (const char* suffix : {"v4.gfx1100", "v5.gfx1100", "v6.gfx1100", "rel.gfx1100"}) {
    ASSERT_TRUE(pack(kernel(suffix, "mixed"), arguments)) << suffix;
    EXPECT_EQ(at<uint64_t>(bytes_, 0), 0x1111'2222'3333u);
    EXPECT_EQ(at<uint64_t>(bytes_, 8), 0x4444u);
    EXPECT_EQ(at<int32_t>(bytes_, 16), 7);
    EXPECT_EQ(at<int64_t>(bytes_, 24), -9);
    EXPECT_EQ(at<int32_t>(bytes_, 32), 42);
    EXPECT_EQ(at<uint32_t>(bytes_, 36), 0u) << "LDS begins at 0: the kernel has none of its own";
  }
}

/// The implicit arguments of code object version 5, 8-byte aligned behind the explicit ones: block
/// counts (full workgroups), group sizes, remainders, offsets, dimensions, dynamic LDS. Offsets:
/// LLVM "User Guide for AMDGPU Backend", "Code Object V5 Metadata Map Changes".
TEST_F(KernelArgsTest, HiddenArgumentsOfVersion5) {
  const auto arguments = args(view(1), view(2), Pair{}, 0, LocalMemory{100});
  ASSERT_TRUE(pack(kernel("v5.gfx1100", "mixed"), arguments, {.dynamic_group_bytes = 100}));
  constexpr size_t kHidden = 40;
  EXPECT_EQ(at<uint32_t>(bytes_, kHidden + 0), 15u) << "1000 / 64";
  EXPECT_EQ(at<uint32_t>(bytes_, kHidden + 4), 1u) << "6 / 4";
  EXPECT_EQ(at<uint32_t>(bytes_, kHidden + 8), 1u);
  EXPECT_EQ(at<uint16_t>(bytes_, kHidden + 12), 64u);
  EXPECT_EQ(at<uint16_t>(bytes_, kHidden + 14), 4u);
  EXPECT_EQ(at<uint16_t>(bytes_, kHidden + 16), 1u);
  EXPECT_EQ(at<uint16_t>(bytes_, kHidden + 18), 40u) << "1000 % 64";
  EXPECT_EQ(at<uint16_t>(bytes_, kHidden + 20), 2u);
  EXPECT_EQ(at<uint16_t>(bytes_, kHidden + 22), 0u);
  EXPECT_EQ(at<uint64_t>(bytes_, kHidden + 40), 0u) << "global offset";
  EXPECT_EQ(at<uint16_t>(bytes_, kHidden + 64), 2u) << "dimensions";
  EXPECT_EQ(at<uint32_t>(bytes_, kHidden + 120), 100u) << "dynamic LDS";
}

TEST_F(KernelArgsTest, PaddingIsZero) {
  ASSERT_TRUE(
      pack(kernel("v5.gfx1100", "mixed"), args(view(1), view(2), Pair{1, 2}, 3, LocalMemory{4})));
  EXPECT_EQ(at<uint64_t>(bytes_, 40 + 24), 0u);
  EXPECT_EQ(at<uint64_t>(bytes_, bytes_.size() - 8), 0u);
}

KernelInfo made_up(std::vector<KernelArg> arguments, uint32_t bytes) {
  KernelInfo info;
  info.name = "made_up";
  info.has_metadata = true;
  info.args = std::move(arguments);
  info.kernarg_bytes = bytes;
  return info;
}

TEST_F(KernelArgsTest, LocalMemoryIsPlacedBehindStaticLdsAndAligned) {
  KernelInfo info =
      made_up({{.name = "a", .offset = 0, .size = 4, .kind = KernelArgKind::DynamicSharedPointer},
               {.name = "b",
                .offset = 4,
                .size = 4,
                .pointee_align = 128,
                .kind = KernelArgKind::DynamicSharedPointer}},
              8);
  info.group_bytes = 20;
  const auto arguments = args(LocalMemory{5}, LocalMemory{12});
  EXPECT_EQ(group_segment_bytes(info, arguments), 140u);
  ASSERT_TRUE(pack(info, arguments));
  EXPECT_EQ(at<uint32_t>(bytes_, 0), 32u);
  EXPECT_EQ(at<uint32_t>(bytes_, 4), 128u);
  EXPECT_EQ(group_segment_bytes(info, args(LocalMemory{~0u}, LocalMemory{~0u})), ~0u)
      << "saturates";
}

TEST_F(KernelArgsTest, ServicesThatAreMissingGetAnUnmappablePage) {
  const KernelInfo info =
      made_up({{.offset = 0, .size = 8, .kind = KernelArgKind::HiddenHostcallBuffer},
               {.offset = 8, .size = 8, .kind = KernelArgKind::HiddenHeapV1},
               {.offset = 16, .size = 8, .kind = KernelArgKind::HiddenQueuePtr},
               {.offset = 24, .size = 4, .kind = KernelArgKind::HiddenPrivateBase},
               {.offset = 28, .size = 4, .kind = KernelArgKind::HiddenSharedBase},
               {.offset = 32, .size = 8, .kind = KernelArgKind::HiddenNone}},
              40);
  ASSERT_TRUE(pack(info, args(), {.private_base = 0x20000, .shared_base = 0x10000}));
  EXPECT_EQ(describe_hidden_guard(at<uint64_t>(bytes_, 0)), "hidden_hostcall_buffer");
  EXPECT_EQ(describe_hidden_guard(at<uint64_t>(bytes_, 0) + 4095), "hidden_hostcall_buffer");
  EXPECT_EQ(describe_hidden_guard(at<uint64_t>(bytes_, 8)), "hidden_heap_v1");
  EXPECT_EQ(describe_hidden_guard(at<uint64_t>(bytes_, 16)), "hidden_queue_ptr");
  EXPECT_LT(at<uint64_t>(bytes_, 16), 0x10000u) << "below what a process can map";
  EXPECT_EQ(at<uint32_t>(bytes_, 24), 0x20000u);
  EXPECT_EQ(at<uint32_t>(bytes_, 28), 0x10000u);
  EXPECT_EQ(at<uint64_t>(bytes_, 32), 0u);
  EXPECT_EQ(describe_hidden_guard(0), "");
  EXPECT_EQ(describe_hidden_guard(0x100000), "");

  ASSERT_TRUE(pack(info, args(), {.queue_ptr = 0x7f0000001000}));
  EXPECT_EQ(at<uint64_t>(bytes_, 16), 0x7f0000001000u) << "an AQL queue has one";
}

TEST_F(KernelArgsTest, MismatchesNameTheArgument) {
  const KernelInfo& info = kernel("v5.gfx1100", "mixed");
  struct Case {
    KernelArgs arguments;
    const char* message;
  };
  const Case cases[] = {
      {args(), "takes 5 arguments; 0 are given"},
      {args(view(1), view(2), Pair{}, 0), "4 are given"},
      {args(view(1), view(2), Pair{}, int64_t{0}, LocalMemory{4}), "Argument 3 of mixed"},
      {args(view(1), view(2), 1.0f, 0, LocalMemory{4}), "takes 16 bytes (Pair); 4 are given"},
      {args(1.0, view(2), Pair{}, 0, LocalMemory{4}), "is a buffer; a value is given"},
      {args(LocalMemory{4}, view(2), Pair{}, 0, LocalMemory{4}), "a LocalMemory is given"},
      {args(view(1), view(2), Pair{}, 0, view(3)), "pass LocalMemory{bytes}"},
      {args(view(1), MemoryView{}, Pair{}, 0, LocalMemory{4}), "is an empty allocation"},
      {args(view(1), view(2), Pair{}, view(4), LocalMemory{4}), "a value of 4 bytes; a buffer"},
  };
  for (const Case& test : cases) {
    const auto packed = pack(info, test.arguments);
    ASSERT_FALSE(packed) << test.message;
    EXPECT_EQ(packed.error().code(), StatusCode::InvalidArgument);
    EXPECT_THAT(packed.error().message(), HasSubstr(test.message));
  }
}

TEST_F(KernelArgsTest, AddressesMayStandForWideValues) {
  const KernelInfo info =
      made_up({{.name = "p", .offset = 0, .size = 8, .kind = KernelArgKind::ByValue},
               {.name = "q", .offset = 8, .size = 8, .kind = KernelArgKind::GlobalBuffer}},
              16);
  ASSERT_TRUE(pack(info, args(view(0xabcd), DevicePointer{0})));
  EXPECT_EQ(at<uint64_t>(bytes_, 0), 0xabcdu);
  EXPECT_EQ(at<uint64_t>(bytes_, 8), 0u) << "an explicit null pointer is meant";
}

TEST_F(KernelArgsTest, KindsWithoutMeaningAreUnsupported) {
  for (KernelArgKind kind :
       {KernelArgKind::Image, KernelArgKind::Sampler, KernelArgKind::Pipe, KernelArgKind::Queue}) {
    const KernelInfo info = made_up({{.offset = 0, .size = 8, .kind = kind}}, 8);
    const auto packed = pack(info, args(view(1)));
    ASSERT_FALSE(packed);
    EXPECT_EQ(packed.error().code(), StatusCode::Unsupported);
    EXPECT_THAT(packed.error().message(), HasSubstr(to_string(kind)));
  }
}

TEST_F(KernelArgsTest, WithoutMetadataTheLayoutIsThatOfAStructure) {
  KernelInfo info;
  info.name = "bare";
  info.kernarg_bytes = 24;
  ASSERT_TRUE(pack(info, args(view(0x10), uint8_t{3}, uint64_t{0x77})));
  EXPECT_EQ(at<uint64_t>(bytes_, 0), 0x10u);
  EXPECT_EQ(at<uint8_t>(bytes_, 8), 3u);
  EXPECT_EQ(at<uint64_t>(bytes_, 16), 0x77u);
  EXPECT_THAT(pack(info, args(view(0x10))).error().message(), HasSubstr("take 8 bytes"));
  EXPECT_FALSE(pack(info, args(view(1), view(2), view(3), view(4))));
}

TEST(LaunchDims, WorkgroupsAndPartialOnes) {
  const auto exact = LaunchDims::from(Dim3(3, 2), Dim3(64));
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->work_items, (std::array<uint32_t, 3>{192, 2, 1}));
  EXPECT_EQ(exact->workgroups(), (std::array<uint32_t, 3>{3, 2, 1}));
  EXPECT_EQ(exact->partial(), (std::array<uint32_t, 3>{0, 0, 0}));
  EXPECT_EQ(exact->dimensions(), 2u);
  const auto ragged = LaunchDims::from(WorkItems(100, 1, 5), Dim3(64, 1, 4));
  ASSERT_TRUE(ragged);
  EXPECT_EQ(ragged->workgroups(), (std::array<uint32_t, 3>{2, 1, 2}));
  EXPECT_EQ(ragged->partial(), (std::array<uint32_t, 3>{36, 0, 1}));
  EXPECT_EQ(ragged->dimensions(), 3u);
  EXPECT_EQ(LaunchDims::from(WorkItems(~0u), Dim3(1024))->workgroups()[0], 1u << 22);
  EXPECT_EQ(LaunchDims::from(Dim3(1u << 31), Dim3(4)).error().code(), StatusCode::OutOfRange);
}

TEST(Signals, Conditions) {
  using enum SignalCondition;
  EXPECT_TRUE(holds(GreaterEqual, 5, 5));
  EXPECT_FALSE(holds(GreaterEqual, -1, 0)) << "host waits are signed";
  EXPECT_TRUE(holds(Equal, 3, 3));
  EXPECT_TRUE(holds(NotEqual, 3, 4));
  EXPECT_TRUE(holds(Less, -1, 0));
  EXPECT_FALSE(holds(Less, 0, 0));
}

}  // namespace
}  // namespace doppel
