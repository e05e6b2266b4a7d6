#include "backends/capture/address_map.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace doppel::capture {
namespace {

std::vector<uint64_t> rewritten(const AddressMap& map, std::vector<uint64_t> words) {
  map.rewrite(std::as_writable_bytes(std::span(words)));
  return words;
}

TEST(AddressMap, FindsWhatIsInside) {
  AddressMap map;
  map.add(0x10000, 0x1000, 0x50000);
  map.add(0x30000, 0x2000, 0x30000);
  EXPECT_EQ(map.find(0x10010), 0x50010u);
  EXPECT_EQ(map.find(0x10fff), 0x50fffu);
  EXPECT_FALSE(map.find(0x11000));
  EXPECT_FALSE(map.find(0xffff));
  EXPECT_EQ(map(0x31fff), 0x31fffu);
  map.remove(0x10000);
  EXPECT_FALSE(map.find(0x10010));
}

TEST(AddressMap, RewritesPointersAtEveryDword) {
  AddressMap map;
  map.add(0x1000'0010'0000, 0x10000, 0x2000'0050'0000);
  EXPECT_EQ(rewritten(map, {0x1000'0010'0040, 7, 0x1000'0011'0000}),
            (std::vector<uint64_t>{0x2000'0050'0040, 7, 0x1000'0011'0000}));
  std::array<uint32_t, 4> dwords{0xc0001000, 0x0010'0008, 0x1000, 5};
  map.rewrite(std::as_writable_bytes(std::span(dwords)));
  EXPECT_EQ(dwords, (std::array<uint32_t, 4>{0xc0001000, 0x0050'0008, 0x2000, 5}));
}

TEST(AddressMap, RewritesProgramAddresses) {
  AddressMap map;
  map.add(0x1000'0010'0000, 0x10000, 0x2000'0050'0000);
  EXPECT_EQ(rewritten(map, {0x1000'0010'0300 >> 8}),
            (std::vector<uint64_t>{0x2000'0050'0300 >> 8}));
}

TEST(AddressMap, LeavesAllAloneThatHasNotMoved) {
  AddressMap map;
  map.add(0x10000, 0x1000, 0x10000);
  EXPECT_FALSE(map.moved());
  EXPECT_EQ(rewritten(map, {0x10000, 0x100}), (std::vector<uint64_t>{0x10000, 0x100}));
}

}  // namespace
}  // namespace doppel::capture
