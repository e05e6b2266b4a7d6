#include "emulator/memory/access_log.h"

#include <gtest/gtest.h>

#include <array>

namespace doppel::emu {
namespace {

constexpr uint64_t kVa = 0x7000'0000;

TEST(AccessLog, ContiguousLanesAreOneRange) {
  AccessLog log;
  std::array<uint64_t, 32> va{};
  for (uint64_t lane = 0; lane < 32; ++lane) va[lane] = kVa + 32 + lane * 4;
  log.lanes(0x100, 7, 0, va.data(), 0xffffffff, 4, AccessMode::Write);
  const AccessLog::Page& page = log.page(kVa / 4096);
  EXPECT_EQ(page.written[0], 0xffffffff00000000u);
  EXPECT_EQ(page.written[1], ~uint64_t{0});
  EXPECT_EQ(page.written[2], 0xffffffffu);
  EXPECT_EQ(log.origin(kVa + 70, true).pc, 0x100u);
  EXPECT_EQ(log.origin(kVa + 70, true).wave, 7u);
  EXPECT_EQ(log.origin(kVa + 70, false).pc, 0u);
}

TEST(AccessLog, ScatteredLanesKeepTheirLane) {
  AccessLog log;
  const std::array<uint64_t, 4> va{kVa, kVa + 4096, kVa + 64, kVa + 9000};
  log.lanes(0x200, 1, 32, va.data(), 0b1011, 8, AccessMode::Read);
  EXPECT_EQ(log.page_numbers().size(), 3u);
  EXPECT_EQ(log.page(kVa / 4096).read[0], 0xffu);
  EXPECT_EQ(log.page(kVa / 4096).read[1], 0u);
  EXPECT_EQ(log.origin(kVa + 4096, false).lane, 33u);
  EXPECT_EQ(log.origin(kVa + 9000, false).lane, 35u);
}

TEST(AccessLog, ReadsOfOwnWritesDependOnNobody) {
  AccessLog log;
  log.range(1, 0, 0, kVa, 4, AccessMode::Write);
  log.range(2, 0, 0, kVa, 8, AccessMode::ScalarRead);
  EXPECT_EQ(log.page(kVa / 4096).scalar_read[0], 0xf0u);
}

TEST(AccessLog, AtomicsAreAtomicUntilAPlainStore) {
  AccessLog log;
  log.range(1, 0, 0, kVa, 8, AccessMode::Atomic);
  EXPECT_EQ(log.page(kVa / 4096).atomic[0], 0xffu);
  EXPECT_EQ(log.page(kVa / 4096).written[0], 0xffu);
  log.range(2, 0, 0, kVa, 4, AccessMode::Write);
  EXPECT_EQ(log.page(kVa / 4096).atomic[0], 0xf0u);
}

TEST(AccessLog, MergeJoinsTheWorkersLogs) {
  AccessLog first, second;
  first.range(1, 0, 0, kVa, 16, AccessMode::Atomic);
  second.range(9, 4, 3, kVa + 8, 8, AccessMode::Write);
  second.range(9, 4, 3, kVa + 64, 4, AccessMode::Read);
  first.merge(second);
  const AccessLog::Page& page = first.page(kVa / 4096);
  EXPECT_EQ(page.written[0], 0xffffu);
  EXPECT_EQ(page.atomic[0], 0x00ffu);
  EXPECT_EQ(page.read[1], 0xfu);
  EXPECT_EQ(first.origin(kVa + 64, false).pc, 9u);
  EXPECT_EQ(first.origin(kVa + 64, false).wave, 4u);
}

}  // namespace
}  // namespace doppel::emu
