// Memory of every domain and size, and the host's ways into it.
#include <cstring>
#include <numeric>

#include "tests/conformance/conformance.h"

namespace doppel::conformance {
namespace {

class MemoryTest : public ConformanceTest {};

TEST_F(MemoryTest, EveryDomainTakesEverySize) {
  for (MemoryDomain domain : {MemoryDomain::Vram, MemoryDomain::Gtt, MemoryDomain::Host}) {
    for (uint64_t bytes : {1ull, 3ull, 4095ull, 4096ull, 4097ull, 65537ull, 3ull << 20}) {
      Allocation memory = allocate(bytes, {.domain = domain});
      ASSERT_TRUE(memory);
      EXPECT_EQ(memory.size(), bytes);
      EXPECT_NE(memory.gpu_address(), 0u);
      EXPECT_EQ(memory.owner(), &gpu());
      EXPECT_EQ(memory.domain(), domain);
      EXPECT_EQ(memory.host() != nullptr, domain != MemoryDomain::Vram);
    }
  }
}

TEST_F(MemoryTest, WriteAndReadBackEveryDomainAndVisibility) {
  std::vector<uint8_t> data(70001);
  std::iota(data.begin(), data.end(), uint8_t{3});
  const AllocationOptions kinds[] = {
      {.domain = MemoryDomain::Vram},
      {.domain = MemoryDomain::Vram, .cpu_visible = true},
      {.domain = MemoryDomain::Gtt},
      {.domain = MemoryDomain::Gtt, .coherent = true, .uncached = true},
      {.domain = MemoryDomain::Host},
  };
  for (const AllocationOptions& options : kinds) {
    const Allocation memory = upload(data, options);
    EXPECT_EQ(download<uint8_t>(memory), data);
  }
}

TEST_F(MemoryTest, TransfersLongerThanTheStagingBuffer) {
  const auto data = pattern((40u << 20) / 4 + 5);
  const Allocation memory = upload(data);
  EXPECT_EQ(download<uint32_t>(memory), data);
}

TEST_F(MemoryTest, PartsAreWrittenInPlace) {
  const Allocation memory = upload(std::vector<uint8_t>(4096, 0));
  const auto middle = memory.slice(1000, 50);
  ASSERT_OK(middle);
  EXPECT_OK(gpu().write(*middle, std::vector<uint8_t>(50, 7)));
  const auto all = download<uint8_t>(memory);
  for (size_t at = 0; at < all.size(); ++at) {
    ASSERT_EQ(all[at], at >= 1000 && at < 1050 ? 7 : 0) << at;
  }
}

TEST_F(MemoryTest, PinnedHostMemoryIsSeenByTheDevice) {
  const size_t page = 4096;
  const std::unique_ptr<void, decltype(&std::free)> mine(std::aligned_alloc(page, 2 * page),
                                                         &std::free);
  std::memset(mine.get(), 0x5a, 2 * page);
  const Allocation pinned =
      allocate(2 * page, {.domain = MemoryDomain::Host, .host_pointer = mine.get()});
  const Allocation copy = allocate(2 * page);
  EXPECT_OK(gpu().sdma().copy(pinned, copy).submit());
  EXPECT_OK(gpu().synchronize());
  EXPECT_EQ(download<uint8_t>(copy), std::vector<uint8_t>(2 * page, 0x5a));
}

TEST_F(MemoryTest, ManyAllocationsDoNotOverlap) {
  std::vector<Allocation> all;
  for (uint32_t index = 0; index < 200; ++index) {
    all.push_back(allocate(4096, {.domain = index % 2 ? MemoryDomain::Gtt : MemoryDomain::Host}));
    all.back().host_as<uint32_t>()[0] = index;
  }
  for (uint32_t index = 0; index < 200; ++index) {
    EXPECT_EQ(all[index].host_as<uint32_t>()[0], index);
  }
}

TEST_F(MemoryTest, FreedMemoryCanBeHadAgain) {
  const uint64_t most = gpu().info().vram_bytes * 6 / 10;
  for (int round = 0; round < 4; ++round) {
    Allocation big = allocate(most);
    ASSERT_TRUE(big);
    EXPECT_OK(big.release());
  }
}

TEST_F(MemoryTest, MoreThanThereIsIsOutOfMemory) {
  EXPECT_ERROR(gpu().allocate(gpu().info().vram_bytes * 2), StatusCode::OutOfMemory, "of vram");
  EXPECT_TRUE(allocate(4096)) << "a refusal must not break what comes after";
}

TEST_F(MemoryTest, BadRequestsAreRefused) {
  EXPECT_ERROR(gpu().allocate(0), StatusCode::InvalidArgument, "(0)");
  EXPECT_ERROR(gpu().allocate(~uint64_t{0}), StatusCode::InvalidArgument, "overflows");
  Allocation empty;
  EXPECT_ERROR(empty.release(), StatusCode::InvalidArgument, "empty");
  EXPECT_ERROR(gpu().write(empty, std::vector<uint8_t>(1)), StatusCode::InvalidArgument, "empty");
  Allocation memory = allocate(100);
  EXPECT_ERROR(gpu().write(memory, std::vector<uint8_t>(101)), StatusCode::OutOfRange, "101 bytes");
  EXPECT_ERROR(memory.slice(50, 51), StatusCode::OutOfRange, "offset 50");
}

TEST_F(MemoryTest, LeaksAreReportedAtClose) {
  expect_fault();  // the fixture's own close comes second and must not complain
  const Allocation kept = allocate(5000);
  const Signal signal = make_signal();
  EXPECT_ERROR(gpu().close(), StatusCode::Exhausted, "1 allocations (8192 bytes), 1 signals");
  EXPECT_ERROR(gpu().allocate(1), StatusCode::Unavailable, "closed");
}

}  // namespace
}  // namespace doppel::conformance
