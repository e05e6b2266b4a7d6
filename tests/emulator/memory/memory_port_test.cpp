#include "emulator/memory/memory_port.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace doppel::emu {
namespace {

class MemoryPortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(vm_.map({0x1000, 0x1000, low_.data(), 3, MemoryKind::Gtt, true, 1}));
    ASSERT_TRUE(vm_.map({0x2000, 0x1000, high_.data(), 1, MemoryKind::Vram, false, 2}));
  }

  alignas(64) std::array<std::byte, 0x1000> low_{};
  alignas(64) std::array<std::byte, 0x1000> high_{};
  GpuVm vm_;
  MemoryPort port_{vm_};
};

TEST_F(MemoryPortTest, StoresExactlyTheBytesOfTheWord) {
  std::memset(low_.data(), 0xee, 16);
  ASSERT_TRUE(port_.store<uint32_t>(0x1004, 0x11223344));
  uint64_t first, second;
  std::memcpy(&first, low_.data(), 8);
  std::memcpy(&second, low_.data() + 8, 8);
  EXPECT_EQ(first, 0x11223344eeeeeeee);
  EXPECT_EQ(second, 0xeeeeeeeeeeeeeeee);
  EXPECT_EQ(port_.load<uint32_t>(0x1004).value(), 0x11223344u);
}

TEST_F(MemoryPortTest, ExchangeReturnsTheOldValue) {
  ASSERT_TRUE(port_.store<uint64_t>(0x1010, 41));
  EXPECT_EQ(port_.exchange<uint64_t>(0x1010, [](uint64_t old) { return old + 1; }).value(), 41u);
  EXPECT_EQ(port_.load<uint64_t>(0x1010).value(), 42u);
}

TEST_F(MemoryPortTest, WordsAreAlignedMappedAndPermitted) {
  const MemoryFault misaligned = port_.load<uint64_t>(0x1004).error();
  EXPECT_EQ(misaligned.kind, FaultKind::Misaligned);
  EXPECT_EQ(misaligned.message(), "The read of 8 bytes is not aligned (va 0x1004).");
  EXPECT_EQ(port_.load<uint32_t>(0x3000).error().kind, FaultKind::UnmappedAccess);
  EXPECT_EQ(port_.store<uint32_t>(0x2000, 1).error().kind, FaultKind::PermissionDenied);
  EXPECT_TRUE(port_.load<uint32_t>(0x2000));
}

TEST_F(MemoryPortTest, BytesCrossExtents) {
  high_[0] = std::byte{7};
  std::array<std::byte, 2> bytes{};
  ASSERT_TRUE(port_.read(0x1fff, bytes));
  EXPECT_EQ(bytes[1], std::byte{7});
  EXPECT_EQ(port_.write(0x1fff, bytes).error().kind, FaultKind::PermissionDenied);
}

TEST_F(MemoryPortTest, NoticesThatTheExtentWentAwayOrMoved) {
  ASSERT_TRUE(port_.load<uint32_t>(0x1000));
  ASSERT_TRUE(vm_.unmap(0x1000));
  EXPECT_FALSE(port_.load<uint32_t>(0x1000));
  high_[0] = std::byte{5};
  ASSERT_TRUE(vm_.map({0x1000, 0x1000, high_.data(), 3, MemoryKind::Vram, false, 3}));
  EXPECT_EQ(port_.load<uint32_t>(0x1000).value(), 5u);
}

}  // namespace
}  // namespace doppel::emu
