#include "emulator/memory/gpu_vm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace doppel::emu {
namespace {

using ::testing::HasSubstr;

constexpr uint8_t kRead = 1, kReadWrite = 3;

class GpuVmTest : public ::testing::Test {
 protected:
  /// Maps `pages` of fresh host memory at `va`; returns it.
  std::byte* map(uint64_t va, uint64_t pages, uint8_t permissions = kReadWrite,
                 uint64_t handle = 12) {
    auto& bytes = host_.emplace_back(pages * kGpuPageBytes);
    auto result =
        vm_.map({va, bytes.size(), bytes.data(), permissions, MemoryKind::Vram, false, handle});
    EXPECT_TRUE(result.has_value()) << result.error().to_string();
    return bytes.data();
  }

  StatusCode map_error(Mapping mapping) {
    auto result = vm_.map(mapping);
    EXPECT_FALSE(result.has_value());
    return result ? StatusCode::System : result.error().code();
  }

  GpuVm vm_;
  std::vector<std::vector<std::byte>> host_;
};

TEST_F(GpuVmTest, TranslatesToTheHostByteOfTheExtent) {
  std::byte* host = map(0x10000, 2);
  EXPECT_EQ(vm_.translate(0x10000, 0x2000, Access::ReadWrite).value(), host);
  EXPECT_EQ(vm_.translate(0x11ff8, 8, Access::Write).value(), host + 0x1ff8);
  EXPECT_EQ(vm_.find(0x12000), nullptr);
  EXPECT_EQ(vm_.find(0xffff), nullptr);
}

TEST_F(GpuVmTest, RefusesExtentsThatAreEmptyUnalignedWrappingOrWithoutMemory) {
  std::byte byte{};
  EXPECT_EQ(map_error({0x1000, 0, &byte, 3}), StatusCode::InvalidArgument);
  EXPECT_EQ(map_error({0x1008, 0x1000, &byte, 3}), StatusCode::InvalidArgument);
  EXPECT_EQ(map_error({0x1000, 0x1008, &byte, 3}), StatusCode::InvalidArgument);
  EXPECT_EQ(map_error({~uint64_t{0xfff}, 0x2000, &byte, 3}), StatusCode::InvalidArgument);
  EXPECT_EQ(map_error({0x1000, 0x1000, nullptr, 3}), StatusCode::InvalidArgument);
}

TEST(GpuVmGranule, MapsToTheByteIfAsked) {
  GpuVm vm(1);
  std::byte object[7] = {};
  ASSERT_TRUE(vm.map({0x1003, sizeof(object), object, kReadWrite}));
  EXPECT_TRUE(vm.translate(0x1003, 7, Access::Read));
  EXPECT_FALSE(vm.translate(0x1002, 1, Access::Read));
  EXPECT_FALSE(vm.translate(0x1003, 8, Access::Read));
}

TEST_F(GpuVmTest, RefusesOverlapOnEitherSideAndTakesNeighbours) {
  map(0x10000, 4);
  std::byte byte{};
  for (uint64_t va : {0xf000, 0x10000, 0x11000, 0x13000}) {
    EXPECT_EQ(map_error({va, 0x2000, &byte, 3}), StatusCode::InvalidArgument) << va;
  }
  EXPECT_EQ(map_error({0x8000, 0x10000, &byte, 3}), StatusCode::InvalidArgument);
  map(0xf000, 1);
  map(0x14000, 1);
  EXPECT_EQ(vm_.mappings().size(), 3u);
}

TEST_F(GpuVmTest, UnmapForgetsTheExtentEvenIfItWasTheLastOneUsed) {
  map(0x10000, 1);
  ASSERT_TRUE(vm_.translate(0x10000, 1, Access::Read));
  const uint64_t epoch = vm_.epoch();
  ASSERT_TRUE(vm_.unmap(0x10000));
  EXPECT_NE(vm_.epoch(), epoch);
  EXPECT_FALSE(vm_.translate(0x10000, 1, Access::Read));
  EXPECT_EQ(vm_.unmap(0x10000).error().code(), StatusCode::NotFound);
}

TEST_F(GpuVmTest, UnmapTakesOnlyTheBeginningOfAnExtent) {
  map(0x10000, 2);
  EXPECT_EQ(vm_.unmap(0x11000).error().code(), StatusCode::NotFound);
  EXPECT_TRUE(vm_.translate(0x10000, 1, Access::Read));
}

TEST_F(GpuVmTest, ReadsAndWritesAcrossNeighbouringExtents) {
  std::byte* low = map(0x10000, 1);
  std::byte* high = map(0x11000, 1);
  const std::array data{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  ASSERT_TRUE(vm_.write(0x10ffe, data));
  EXPECT_EQ(low[0xfff], std::byte{2});
  EXPECT_EQ(high[0], std::byte{3});
  std::array<std::byte, 4> back{};
  ASSERT_TRUE(vm_.read(0x10ffe, back));
  EXPECT_EQ(back, data);
  EXPECT_EQ(vm_.translate_prefix(0x10ffe, 4, Access::Read)->size(), 2u);
}

TEST_F(GpuVmTest, NamesTheFirstByteThatCannotBeAccessed) {
  map(0x10000, 1);
  map(0x11000, 1);
  std::array<std::byte, 16> data{};
  const auto fault = vm_.write(0x11ff8, data).error();
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(fault.va, 0x12000u);
  const auto whole = vm_.translate(0x10000, 0x2001, Access::Read).error();
  EXPECT_EQ(whole.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(whole.va, 0x12000u);
  EXPECT_EQ(whole.size, 0x2001u);
}

TEST_F(GpuVmTest, TellsAnAccessOverTwoExtentsFromAnUnmappedOne) {
  map(0x10000, 1);
  map(0x11000, 1);
  const auto fault = vm_.translate(0x10ff8, 16, Access::Read).error();
  EXPECT_EQ(fault.kind, FaultKind::Misaligned);
  EXPECT_EQ(fault.message(),
            "The read of 16 bytes crosses from one mapping into another (va 0x10ff8).");
}

TEST_F(GpuVmTest, ChecksPermissions) {
  map(0x10000, 1, kRead);
  EXPECT_TRUE(vm_.translate(0x10000, 4, Access::Read));
  const auto fault = vm_.translate(0x10010, 4, Access::Write).error();
  EXPECT_EQ(fault.kind, FaultKind::PermissionDenied);
  EXPECT_EQ(fault.nearest, "vram 0x10000+0x1000 (handle 12), 16 bytes inside, which allows read");
  EXPECT_EQ(vm_.translate(0x10000, 4, Access::ReadWrite).error().kind, FaultKind::PermissionDenied);
  EXPECT_EQ(vm_.translate(0x10000, 4, Access::Execute).error().kind, FaultKind::PermissionDenied);
}

TEST_F(GpuVmTest, AddressesThatWrapAroundFault) {
  map(0x10000, 1);
  EXPECT_FALSE(vm_.translate(0x10800, ~uint64_t{0}, Access::Read));
  std::array<std::byte, 16> data{};
  EXPECT_FALSE(vm_.read(~uint64_t{0} - 3, data));
}

TEST_F(GpuVmTest, DescribesTheNearestAllocation) {
  EXPECT_EQ(vm_.describe_nearest(0x1000), "");
  map(0x10000, 1, kReadWrite, 3);
  map(0x20000, 1, kReadWrite, 4);
  EXPECT_EQ(vm_.describe_nearest(0x11040),
            "vram 0x10000+0x1000 (handle 3), 64 bytes above its end");
  EXPECT_EQ(vm_.describe_nearest(0x1fff0), "vram 0x20000+0x1000 (handle 4), 16 bytes below it");
  EXPECT_EQ(vm_.describe_nearest(0x0fff0), "vram 0x10000+0x1000 (handle 3), 16 bytes below it");
}

TEST_F(GpuVmTest, ToFaultKeepsTheFacts) {
  map(0x10000, 1);
  const Fault fault = to_fault(vm_.translate(0x11000, 4, Access::Write).error());
  EXPECT_EQ(fault.kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(fault.address, 0x11000u);
  EXPECT_EQ(fault.access_size, 4u);
  EXPECT_TRUE(fault.is_write);
  EXPECT_THAT(fault.nearest_allocation, HasSubstr("0 bytes above its end"));
}

TEST_F(GpuVmTest, FillsATlbEntryForTheWholeExtent) {
  std::byte* host = map(0x10000, 2, kRead);
  TlbEntry entry;
  EXPECT_FALSE(vm_.fill_tlb(0x30000, entry));
  ASSERT_TRUE(vm_.fill_tlb(0x11234, entry));
  EXPECT_EQ(entry.va_begin, 0x10000u);
  EXPECT_EQ(entry.va_end, 0x12000u);
  EXPECT_EQ(entry.host, host);
  EXPECT_EQ(entry.permissions, kRead);
  EXPECT_EQ(entry.epoch, vm_.epoch());
}

TEST_F(GpuVmTest, ConcurrentLookupsAgree) {
  std::byte* low = map(0x10000, 1);
  std::byte* high = map(0x20000, 1);
  auto look = [&](uint64_t va, std::byte* host) {
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(vm_.translate(va, 4, Access::Read).value(), host);
  };
  std::thread first(look, 0x10000, low), second(look, 0x20000, high);
  first.join();
  second.join();
}

}  // namespace
}  // namespace doppel::emu
