// What a kernel does wrong reaches the client as it does on hardware, and doppel says where.
#include "tests/client/run_client.h"

namespace doppel::client {
namespace {

constexpr int kAborted = 128 + 6;

TEST(HipFault, AWildWriteAbortsTheProgramAndIsExplained) {
  REQUIRE_HIP_CLIENT("wild_write");
  const CountedOutcome outcome =
      run_counted("wild_write", "--gpu gfx1030,cu=4", hip_client("wild_write"));
  EXPECT_EQ(outcome.status, kAborted) << outcome.output;
  // ROCr's own words.
  EXPECT_TRUE(outcome.says("Memory access fault by GPU node-1")) << outcome.output;
  // doppel's.
  for (const char* fact :
       {"UnmappedAccess: The write of 4 bytes reaches unmapped memory", "kernel: wild_write(int*",
        "instruction: global_store_dword", "(pc 0x", "lane 7", "address: 0x",
        "nearest allocation: ", "packet: KERNEL_DISPATCH"})
    EXPECT_TRUE(outcome.says(fact)) << fact << "\n" << outcome.output;
  EXPECT_EQ(outcome.counters.faults, 1u);
}

TEST(HipFault, MemoryThatTheProgramUnmapsIsAFaultToo) {
  REQUIRE_HIP_CLIENT("unmapped_host_memory");
  const Outcome outcome = run("--gpu gfx1030,cu=4", hip_client("unmapped_host_memory"));
  EXPECT_EQ(outcome.status, kAborted) << outcome.output;
  EXPECT_TRUE(outcome.says("first value: 1\n")) << outcome.output;
  EXPECT_TRUE(outcome.says("doppel: The program has taken away memory that a GPU uses (0x"))
      << outcome.output;
  EXPECT_TRUE(outcome.says("Memory access fault by GPU node-1")) << outcome.output;
}

}  // namespace
}  // namespace doppel::client
